package config

import (
	"encoding/json"
	"reflect"
)

// Form says how the name and the filters of a consumer are written in its configuration.
type Form struct {
	durable bool // the name is that of a durable consumer too
	listed  bool // the filters are a list, even if it is one
}

// Common returns what of the configuration consumers have in common that are alike: all but the name and the filters, of
// which it returns how they were written. Very many consumers that share it take little memory.
func (c *Consumer) Common() (Consumer, Form) {
	common, form := *c, Form{durable: c.Durable == c.Name, listed: c.FilterSubject == ""}
	common.Name, common.FilterSubject = "", ""
	if form.durable {
		common.Durable = ""
	}
	if form.listed {
		common.FilterSubjects = nil
	}
	return common, form
}

// Of returns the whole configuration again, of a consumer with this name and these filters. It is what Common was asked
// of, and shares all slices, pointers and the map with it.
func (f Form) Of(common *Consumer, name string, filters []string) Consumer {
	c := *common
	c.Name = name
	if f.durable {
		c.Durable = name
	}
	switch {
	case f.listed:
		c.FilterSubjects = filters
	case len(filters) == 1:
		c.FilterSubject = filters[0]
	}
	return c
}

// Alike reports whether two configurations are the same in every respect.
func Alike(a, b *Consumer) bool { return a == b || reflect.DeepEqual(a, b) }

// Same reports whether two configurations, normalised both, ask for the same.
func Same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
