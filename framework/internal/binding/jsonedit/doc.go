// Package jsonedit finds values in JSON texts by pointers, and changes texts without a look at the rest of them.
// All texts have passed jsontext.Check before.
package jsonedit
