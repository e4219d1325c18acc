package binding

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

	Owner  reflect.Type // the struct type of the field that the path ends with; nil: none
	Member string       // that field's name

	// Enum is set if the fault depends on constants, which reflection does not see: it is a fault only if the
	// package of this type declares constants of the type.
	Enum reflect.Type
}

// String is the fault on one line.
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

// Faults collects the faults of one type, each with the path of the field that is being looked at.
type Faults struct {
	path []string // Go names, from the root type on
	list []Fault
}

// at runs fn one step further down the path.
func (f *Faults) at(name string, fn func()) {
	f.path = append(f.path, name)
	fn()
	f.path = f.path[:len(f.path)-1]
}

// fault adds a fault at path, or at the current path if path is "".
func (f *Faults) fault(path, problem, fix string) {
	if path == "" {
		path = strings.Join(f.path, ".")
	}
	f.list = append(f.list, Fault{Path: path, Problem: problem, Fix: fix})
}

// warn adds a warning at the current path.
func (f *Faults) warn(problem, fix string) {
	f.list = append(f.list, Fault{Path: strings.Join(f.path, "."), Problem: problem, Fix: fix, Warning: true})
}

// failed reports whether any of the faults is more than a warning.
func (f *Faults) failed() bool { return failed(f.list) }

// failed reports whether any of the faults is more than a warning.
func failed(faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return !f.Warning })
}
