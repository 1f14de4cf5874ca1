package fault

// Lead has a server lead all streams that it can.
var Lead = lead
