// Package other has a type whose name the server's own package has too.
package other

// Config is not the server's Config.
type Config struct {
	Port     uint16    `json:"port"`
	Fallback *Config   `json:"fallback"`
	Chain    []*Config `json:"chain,omitempty"`
}
