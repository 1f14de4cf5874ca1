package handover

// Decode is decode.
var Decode = decode
