// Package other has a type with the same name as a type of the server's own package.
package other

// Config is not the server's Config.
type Config struct {
	Port     uint16    `json:"port"`
	Fallback *Config   `json:"fallback"`
	Chain    []*Config `json:"chain,omitempty"`
}
