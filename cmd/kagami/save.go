package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

var errOutputJSON = usagef("--output and --json exclude each other: --json prints the whole result")

// save writes the bytes of all contents to one file.
func save(path string, contents []protocol.Contents) error {
	if len(contents) == 0 {
		return errors.New("the resource has no contents")
	}
	var all []byte
	for i := range contents {
		all = append(all, bytesOf(&contents[i])...)
	}
	return os.WriteFile(path, all, 0o644)
}

func bytesOf(c *protocol.Contents) []byte {
	if c.Data == nil {
		return []byte(c.Text)
	}
	return c.Data
}

// saveResult writes each image, sound or embedded resource to its own file, and prints the rest. If
// the result has none of them, it writes the text of the result to the file.
func (a *cli) saveResult(result *protocol.CallToolResult) error {
	var files [][]byte
	rest := *result
	rest.Content = nil
	for _, block := range result.Content {
		switch b := block.(type) {
		case protocol.Image:
			files = append(files, b.Data)
		case protocol.Audio:
			files = append(files, b.Data)
		case protocol.Embedded:
			files = append(files, bytesOf(&b.Contents))
		default:
			rest.Content = append(rest.Content, block)
		}
	}
	var text strings.Builder
	printResult(&text, &rest)
	if len(files) == 0 {
		return os.WriteFile(a.output, []byte(text.String()), 0o644)
	}
	for i, data := range files {
		path := a.output
		if i > 0 {
			ext := filepath.Ext(path)
			path = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), i+1, ext)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
		a.say("wrote %s, %s", path, size(len(data)))
	}
	_, err := a.out.Write([]byte(text.String()))
	return err
}
