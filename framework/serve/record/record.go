// Package record writes the frames of a session to a file, one per line, so that testkit.Replay can
// play it again. It leaves out secrets, and values that differ in each run.
//
// Three kinds of secrets are redacted. The first are strings under names that suggest secrets, such
// as "apiKey", also in JSON inside a text. The second are the same strings elsewhere, if they have
// at least four characters. The third are texts that look like a bearer token.
//
// Values that differ in each run are replaced by placeholders: IDs of tasks and of questions,
// states of calls, and times.
//
// Values are plain data. The functions are safe for concurrent use.
package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// version is the version of the format.
const version = 1

// Placeholders in records, for secrets and for times.
const (
	Redacted = "<redacted>"
	Sometime = "<time>"
)

// Varying returns the names of members whose values differ in each run. Their placeholders consist
// of the name and a number, such as "<taskId 1>".
func Varying() []string { return []string{"taskId", "requestState", "elicitationId", "sessionId"} }

// Head is the first line of a record. It has the version of the format and the caller.
type Head struct {
	Version  int      `json:"testkit"` // set by Write
	Revision string   `json:"revision"`
	User     string   `json:"user,omitempty"`
	Issuer   string   `json:"issuer,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	Claims   any      `json:"claims,omitempty"` // for Write, a json.RawMessage or nil
}

// Frame is one frame as it was on the wire.
type Frame struct {
	Sent bool // true if the client sent it
	Text []byte
}

// Line is one frame of a record. It is JSON, or a JSON string if the frame was not JSON. Exactly
// one of the members is set.
type Line struct {
	Client any `json:"client,omitempty"`
	Server any `json:"server,omitempty"`
}

// Write writes a record of frames. The values of members named in secret are also redacted, both
// strings and numbers. The names match in any letter case.
func Write(w io.Writer, head Head, secret []string, frames []Frame) error {
	claims, _ := head.Claims.(json.RawMessage)
	n := newNormal(secret, append(slices.Clip(frames), Frame{Text: claims}))
	head.Version = version
	if claims != nil {
		head.Claims = n.frame(claims)
	}
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(head); err != nil {
		return fmt.Errorf("writing the head: %w", err)
	}
	for _, f := range frames {
		v := n.frame(f.Text)
		line := Line{Server: v}
		if f.Sent {
			line = Line{Client: v}
		}
		if err := lines.Encode(line); err != nil {
			return fmt.Errorf("writing a frame: %w", err)
		}
	}
	return nil
}

// Read parses the output of Write. Numbers are json.Number. If a line is malformed, the error names
// the line.
func Read(text []byte) (head Head, lines []Line, err error) {
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, len(text)+1)
	for n := 1; in.Scan(); n++ {
		var line Line
		if n == 1 {
			head, err = readHead(in.Bytes())
		} else {
			line, err = readLine(in.Bytes())
			lines = append(lines, line)
		}
		if err != nil {
			return head, nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if head.Version != version {
		return head, nil, errors.New("the file is not a record of a session")
	}
	return head, lines, nil
}

func readHead(text []byte) (head Head, err error) {
	var of struct { // decoded first, because other versions may have other members
		Version int `json:"testkit"`
	}
	if err = json.Unmarshal(text, &of); err == nil && of.Version > version {
		err = errors.New("a newer version of Kagami has written this record")
	}
	if err == nil {
		err = json.Unmarshal(text, &head)
	}
	return head, err
}

func readLine(text []byte) (line Line, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&line); err == nil && (line.Client == nil) == (line.Server == nil) {
		err = errors.New("a line is one frame of the client or of the server")
	}
	return line, err
}

func encodeAny(v any) string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(text.String(), "\n")
}
