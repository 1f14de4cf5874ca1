package delays

// What tests see of the inside.
var (
	Wrap     = wrap
	Unwrap   = unwrap
	ConfigOf = configOf
)
