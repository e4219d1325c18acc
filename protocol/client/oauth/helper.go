package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Helper returns a store that keeps records with a program. The program speaks the protocol of
// docker-credential-helpers (get, store, erase, JSON on stdin and stdout). Such programs exist for
// the keychain of macOS, the credential manager of Windows, the Secret Service and pass. The
// program is run without a shell, for at most 10 seconds.
//
// Locks and keys are in files of dir, without secrets. If dir is empty, the directory is the
// default directory of [File].
func Helper(program, dir string) Store { return &helper{program, files{dir: dir}} }

const helperTime = 10 * time.Second

// helper keeps the content of a record in the program. A file of the files store has only the key,
// for List. The version in the program is the one that counts.
type helper struct {
	program string
	index   files
}

// secret is the entry in the program.
type secret struct {
	Version uint64          `json:"version"`
	Data    json.RawMessage `json:"data"`
}

// account returns the program's name for a record. It must be a URL.
func account(k Key) string { return "https://auth.kagami/" + digest(k) }

// Get reads the record from the program.
func (h *helper) Get(ctx context.Context, k Key) (Record, error) {
	out, err := h.run(ctx, "get", account(k))
	if err != nil {
		return Record{}, err
	}
	var found struct{ Secret string }
	var s secret
	err = json.Unmarshal(out, &found)
	if err == nil {
		err = json.Unmarshal([]byte(found.Secret), &s)
	}
	if err != nil {
		return Record{}, because(ErrStore, fmt.Errorf("the answer of %s cannot be read", h.program)) // it may be a secret
	}
	return Record{Key: k, Version: s.Version, Data: s.Data}, nil
}

// Put writes the key first, so that every secret has a key.
func (h *helper) Put(ctx context.Context, r Record) (version uint64, err error) {
	err = h.index.change(ctx, r.Key, func(path string, _ uint64) error {
		stored, err := h.Get(ctx, r.Key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if stored.Version != r.Version {
			return ErrConflict
		}
		text, _ := json.Marshal(storedRecord{V: formatVersion, Key: r.Key, Version: 1, Data: json.RawMessage("null")}) // strings always marshal
		if err := replace(path, text); err != nil {
			return err
		}
		content, err := json.Marshal(secret{r.Version + 1, r.Data})
		if err != nil {
			return because(ErrStore, err)
		}
		entry, _ := json.Marshal(map[string]string{"ServerURL": account(r.Key), "Username": "kagami", "Secret": string(content)}) // strings always marshal
		_, err = h.run(ctx, "store", string(entry))
		return err
	})
	if err != nil {
		return 0, err
	}
	return r.Version + 1, nil
}

// Delete removes the secret before the key.
func (h *helper) Delete(ctx context.Context, k Key, version uint64) error {
	return h.index.change(ctx, k, func(path string, listed uint64) error {
		stored, err := h.Get(ctx, k)
		switch {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return err
		case stored.Version != version:
			return ErrConflict
		default:
			if _, err := h.run(ctx, "erase", account(k)); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		if listed == 0 {
			return nil
		}
		return because(ErrStore, retryWhileBusy(busy, func() error { return os.Remove(path) }))
	})
}

// List returns the keys of the files.
func (h *helper) List(ctx context.Context) ([]Key, error) { return h.index.List(ctx) }

// Lock locks a file.
func (h *helper) Lock(ctx context.Context, k Key) (func(), error) { return h.index.Lock(ctx, k) }

// run returns the program's output. If the output contains "not found", run returns ErrNotFound.
func (h *helper) run(ctx context.Context, action, input string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.program, action) //nolint:gosec // the caller's program, no shell
	cmd.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if strings.Contains(strings.ToLower(out.String()), "not found") {
			return nil, ErrNotFound
		}
		if said := strings.TrimSpace(out.String()); said != "" && action == "store" && !repeats(said, input) { // the output of get may be a secret
			err = fmt.Errorf("%w: %s", err, cleaned(said))
		}
		return nil, because(ErrStore, fmt.Errorf("%s %s: %w", h.program, action, err))
	}
	return out.Bytes(), nil
}

// repeats reports whether a message contains a word of the input that may be a secret: one of at
// least eight characters between the signs of JSON. Names of members are not secret.
func repeats(said, input string) bool {
	names := regexp.MustCompile(`\\*"\w+\\*":`) // also in JSON within a string
	words := strings.FieldsFunc(names.ReplaceAllString(input, ""), func(r rune) bool { return strings.ContainsRune("\"\\{}[],: ", r) })
	return slices.ContainsFunc(words, func(word string) bool { return len(word) >= 8 && strings.Contains(said, word) })
}
