//go:build race

package mcpfx_test

const raced = true
