// Package spelling finds the name that was probably meant by one that does not exist.
package spelling
