// Package sourcedoc holds the doc comments of user packages, which are not in a compiled program. The
// code that "kagami gen" writes registers them when the program starts.
package sourcedoc

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
)

// docs are the texts by package and name. The init functions of user packages write them one after the
// other, and Build reads them; the lock is for apps that are built while a plugin is loaded.
var (
	mu   sync.RWMutex
	docs = map[string]map[string]string{}
)

// Add registers the texts of a package, by its import path. See framework.RegisterDocs for the keys.
func Add(pkg string, texts map[string]string) {
	mu.Lock()
	defer mu.Unlock()
	if docs[pkg] == nil {
		docs[pkg] = make(map[string]string, len(texts))
	}
	maps.Copy(docs[pkg], texts)
}

// Func returns the text of a function or of a method, which package runtime names like "(*T).Method". If
// nothing is registered under the name, Func returns "".
func Func(pkg, name string) string {
	return of(pkg, strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(name))
}

// Field returns the text of a field that struct type t declares. If nothing is registered, it returns "".
func Field(t reflect.Type, field string) string {
	return of(t.PkgPath(), typeName(t)+"."+field)
}

// Constant returns the text of the constant of type t that has the value v. If nothing is registered, or v is
// neither a string nor an integer, it returns "".
func Constant(t reflect.Type, v reflect.Value) string {
	switch {
	case v.Kind() == reflect.String, v.CanInt(), v.CanUint():
		return of(t.PkgPath(), typeName(t)+"="+basic(v))
	}
	return ""
}

// basic returns the text of a value without its methods.
func basic(v reflect.Value) string {
	switch {
	case v.CanInt():
		return fmt.Sprint(v.Int())
	case v.CanUint():
		return fmt.Sprint(v.Uint())
	}
	return v.String()
}

func of(pkg, key string) string {
	mu.RLock()
	defer mu.RUnlock()
	return docs[pkg][key]
}

// typeName returns the name of a type without its type arguments.
func typeName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}
