package authserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// table keeps records of one kind in the store, as JSON. The ID of a record is a digest of its key,
// so a reader of the store learns no code and no token from it.
//
// A record has its format in the member "v". A record without "v" has format 1. If a newer version
// of the program adds something that an older version must not drop, it must write a higher format.
// The older version then returns errNewer, and does not change the record.
type table[T any] struct {
	kind  string
	store session.Store
}

// errSame is the error that a function returns to table.change if there is nothing to write.
var errSame = errors.New("authserver: nothing has changed")

// errBusy means that other processes changed a record as often as it was read.
var errBusy = errors.New("authserver: too many changes at once")

// errNewer means that a record has a format that this version of the program does not know.
// Processes with a newer version can read it.
var errNewer = errors.New("a newer version of Kagami has written it")

const (
	maxConflicts = 100
	recordFormat = 1
)

func (t table[T]) id(key string) string { return "as:" + t.kind + ":" + shortDigest(t.kind, key) }

// get returns a record. If it does not exist, or has expired, errors.Is(err, session.ErrNotFound)
// is true.
func (t table[T]) get(ctx context.Context, key string) (*T, error) {
	v, _, err := t.read(ctx, key)
	return v, err
}

func (t table[T]) read(ctx context.Context, key string) (*T, session.Record, error) {
	r, err := t.store.Get(ctx, t.id(key))
	if err != nil {
		return nil, r, err
	}
	var head struct {
		V int `json:"v"`
	}
	err = json.Unmarshal(r.Data, &head)
	if err == nil && head.V > recordFormat {
		err = errNewer
	}
	v := new(T)
	decoder := json.NewDecoder(bytes.NewReader(r.Data))
	decoder.UseNumber() // a float64 does not hold all numbers that claims of users may have
	if err == nil {
		err = decoder.Decode(v)
	}
	if err != nil {
		return nil, r, fmt.Errorf("authserver: a record of kind %s cannot be read: %w", t.kind, err)
	}
	return v, r, nil
}

// create adds a record. If it exists, errors.Is(err, session.ErrExists) is true.
func (t table[T]) create(ctx context.Context, key string, v *T, expires time.Time) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.store.Create(ctx, session.Record{ID: t.id(key), Expires: expires, Data: data})
}

// change calls fn to change a record, and again if another process has changed the record
// meanwhile. A record that does not exist is the zero value, and is created. fn returns when the
// record expires, or errSame.
func (t table[T]) change(ctx context.Context, key string, fn func(v *T) (expires time.Time, err error)) error {
	for range maxConflicts {
		v, r, err := t.read(ctx, key)
		missing := errors.Is(err, session.ErrNotFound)
		if err != nil && !missing {
			return err
		}
		if missing {
			v = new(T)
		}
		expires, err := fn(v)
		switch {
		case errors.Is(err, errSame):
			return nil
		case err != nil:
			return err
		case missing:
			err = t.create(ctx, key, v, expires)
		default:
			r.Expires = expires
			if r.Data, err = json.Marshal(v); err == nil {
				err = t.store.Update(ctx, r)
			}
		}
		if !errors.Is(err, session.ErrConflict) && !errors.Is(err, session.ErrExists) && !errors.Is(err, session.ErrNotFound) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return errBusy
}

func (t table[T]) delete(ctx context.Context, key string) error {
	return t.store.Delete(ctx, t.id(key))
}

// digest returns the digest of secrets that are only compared. They are random, so a slower hash is
// not needed. A zero byte, which the parts do not contain, separates the parts.
func digest(parts ...string) []byte {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return h.Sum(nil)
}

// shortDigest returns a short name for data that is not secret.
func shortDigest(parts ...string) string { return base64url(digest(parts...)[:16]) }

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
