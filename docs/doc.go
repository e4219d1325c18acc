// Package docs holds the guides. Its test holds their code against the code
// under docs/code, which is compiled and run.
package docs
