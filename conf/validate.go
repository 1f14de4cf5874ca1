package conf

// Validate checks the rules between keys. [Parse] does it too; whoever changes
// options afterwards, say by command line flags, calls it again. A non-nil
// error is an [Errors].
func (o *Options) Validate() error {
	r := &report{}
	o.check(r)
	return r.errors.asError()
}

func (o *Options) check(r *report)           {}
func exposed(path string, o *Options) *Error { return nil }
func isUnsupported(path string) bool         { return false }
