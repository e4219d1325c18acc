package report

import (
	"reflect"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a type at registration.
type Fault struct {
	Path    string // Go path, such as In.Filter.Ch
	Problem string
	Fix     string
	Warning bool // the plan is usable

	Owner  reflect.Type // the struct type of the field at the end of the path; may be nil
	Member string       // the name of the field

	// Enum is set if the fault depends on constants, because reflection does not see constants. It is a fault only if the
	// package of this type declares constants of the type.
	Enum reflect.Type
}

// String returns the fault on one line.
func (f Fault) String() string {
	s := f.Problem
	if f.Path != "" {
		s = f.Path + ": " + s
	}
	if f.Fix != "" {
		s += ". " + f.Fix
	}
	return s
}

// Faults collects the faults of one type, each with the path of the current field.
type Faults struct {
	Path []string // Go names, from the root type on
	List []Fault
}

// At runs fn with name as the next step of the path.
func (f *Faults) At(name string, fn func()) {
	f.Path = append(f.Path, name)
	fn()
	f.Path = f.Path[:len(f.Path)-1]
}

// Fault adds a fault at path, or at the current path if path is "".
func (f *Faults) Fault(path, problem, fix string) {
	if path == "" {
		path = strings.Join(f.Path, ".")
	}
	f.List = append(f.List, Fault{Path: path, Problem: problem, Fix: fix})
}

// Warn adds a warning at the current path.
func (f *Faults) Warn(problem, fix string) {
	f.List = append(f.List, Fault{Path: strings.Join(f.Path, "."), Problem: problem, Fix: fix, Warning: true})
}

// Failed reports whether any of the faults is more than a warning.
func (f *Faults) Failed() bool { return Failed(f.List) }

// Failed reports whether any of the faults is more than a warning.
func Failed(faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return !f.Warning })
}
