// Package spelling finds the existing name that a wrong name probably stands for.
package spelling
