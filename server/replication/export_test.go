package replication

// What tests look at.
var (
	Voteless = voteless
	Lacking  = lacking
)
