package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// Lists are cached between commands, so that a call is only one request for the server's rate
// limit. The shell can also complete words without waiting.
const (
	listAge     = 5 * time.Minute
	mostAge     = 24 * time.Hour // older files are removed
	longestList = 16 << 20       // bytes
)

// listFile returns the file for the lists of a server. Each caller and each revision has its own
// file. If there is no cache, listFile returns "".
func (a *cli) listFile(server []string, parts surface.Part) string {
	if a.cache == "" {
		return ""
	}
	here, err := os.Getwd()
	if err != nil {
		return ""
	}
	key, _ := json.Marshal([]any{version(), here, server, parts, a.revision, a.headers, a.token(), a.accountName()}) // encoding texts does not fail
	sum := sha256.Sum256(key)
	return filepath.Join(a.cache, hex.EncodeToString(sum[:16])+".json")
}

// keptLists returns the cached lists of the server if they are not older than listAge, and nil
// otherwise.
func (a *cli) keptLists(server []string, parts surface.Part) *surface.Surface {
	file := a.listFile(server, parts)
	info, err := os.Stat(file)
	if err != nil || time.Since(info.ModTime()) > listAge || info.Size() > longestList {
		return nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	all, err := surface.Parse(raw)
	if err != nil {
		return nil
	}
	return all
}

// keepLists writes the lists to their file. It ignores errors, because the cache is optional.
func (a *cli) keepLists(server []string, parts surface.Part, all *surface.Surface) {
	file := a.listFile(server, parts)
	var raw bytes.Buffer
	if file == "" || os.MkdirAll(a.cache, 0o700) != nil || all.WriteJSON(&raw) != nil {
		return
	}
	old, _ := filepath.Glob(filepath.Join(a.cache, "*.json"))
	for _, other := range old {
		if info, err := os.Stat(other); err == nil && time.Since(info.ModTime()) > mostAge {
			_ = os.Remove(other)
		}
	}
	if os.WriteFile(file+".new", raw.Bytes(), 0o600) == nil {
		_ = os.Rename(file+".new", file)
	}
}

// toolsFor returns the tools of a server. If the server is at a URL and the cached list has the
// tool, toolsFor returns that list, and kept is true.
func (a *cli) toolsFor(ctx context.Context, c *client.Client, server []string, name string) (all *surface.Surface, kept bool, err error) {
	atURL := remote(server)
	if atURL {
		if all = a.keptLists(server, surface.Tools); all != nil {
			if _, listed := toolNamed(all, name); listed {
				return all, true, nil
			}
		}
	}
	if all, err = surface.Read(ctx, c, surface.Tools); err != nil {
		if one := listedAlone(ctx, c, name); one != nil {
			return one, false, nil
		}
	} else if atURL {
		a.keepLists(server, surface.Tools, all)
	}
	return all, false, err
}

// listedAlone returns a surface with only the named tool, or nil. One invalid entry of a list must not
// prevent calls of other tools.
func listedAlone(ctx context.Context, c *client.Client, name string) *surface.Surface {
	entries, err := surface.Entries(ctx, c, protocol.MethodListTools, "tools")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		one := &surface.Surface{}
		if one.Fill(surface.Tools, []json.RawMessage{entry}) == nil && one.Tools[0].Name == name {
			return one
		}
	}
	return nil
}

// toolNamed returns the tool with this name. If there is no such tool, listed is false.
func toolNamed(all *surface.Surface, name string) (tool protocol.Tool, listed bool) {
	i := slices.IndexFunc(all.Tools, func(t protocol.Tool) bool { return t.Name == name })
	if i < 0 {
		return tool, false
	}
	return all.Tools[i], true
}
