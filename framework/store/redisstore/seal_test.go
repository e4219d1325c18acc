package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/internal/redisserver"
	"github.com/kagami-mcp/kagami/framework/store/redisstore"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

var (
	oldKey = []byte("the key of last year, 32 bytes..")
	newKey = []byte("the key of this year")
)

const secret = "a secret that nobody may read"

// keepSecrets puts the secret wherever users' data goes.
func keepSecrets(t *testing.T, s *redisstore.Store, name string) {
	t.Helper()
	ctx, text := t.Context(), []byte(secret)
	r := working(name)
	r.Status, r.Message, r.Call, r.Journal = protocol.TaskInputRequired, secret, text, text
	r.Questions = []task.Question{{Key: secret, Request: text}}
	ended := working("ended " + name)
	ended.Status, ended.Result = protocol.TaskCompleted, text
	failed := working("failed " + name)
	failed.Status, failed.Error = protocol.TaskFailed, text
	_, _, claimErr := s.Claims().Claim(ctx, name, text, time.Hour)
	_, eventErr := s.Events().Append(ctx, name, text)
	if err := errors.Join(
		s.Tasks().Create(ctx, r), s.Tasks().Create(ctx, ended), s.Tasks().Create(ctx, failed),
		s.Sessions().Create(ctx, session.Record{ID: name, Principal: "somebody", Data: text}), claimErr, eventErr,
	); err != nil {
		t.Fatal(err)
	}
}

// secrets reads all that keepSecrets kept.
func secrets(ctx context.Context, s *redisstore.Store, name string) (found [][]byte, errs []error) {
	r, err := s.Tasks().Get(ctx, name)
	found, errs = append(found, []byte(r.Message), r.Call, r.Journal), append(errs, err)
	for _, q := range r.Questions {
		found = append(found, []byte(q.Key), q.Request)
	}
	ended, err := s.Tasks().Get(ctx, "ended "+name)
	found, errs = append(found, ended.Result), append(errs, err)
	failed, err := s.Tasks().Get(ctx, "failed "+name)
	found, errs = append(found, failed.Error), append(errs, err)
	sess, err := s.Sessions().Get(ctx, name)
	found, errs = append(found, sess.Data), append(errs, err)
	value, err := s.Claims().Get(ctx, name)
	found, errs = append(found, value), append(errs, err)
	events, err := s.Events().After(ctx, name, 0)
	errs = append(errs, err)
	for _, e := range events {
		found = append(found, e.Frame)
	}
	return found, errs
}

func wantSecrets(t *testing.T, s *redisstore.Store, name string) {
	t.Helper()
	found, errs := secrets(t.Context(), s, name)
	if err := errors.Join(errs...); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if len(found) != 10 || slices.ContainsFunc(found, func(b []byte) bool { return string(b) != secret }) {
		t.Errorf("%s: %d values, %q", name, len(found), found)
	}
}

func wantNoSecrets(t *testing.T, s *redisstore.Store, name string) {
	t.Helper()
	found, errs := secrets(t.Context(), s, name)
	for i, err := range errs {
		if !errors.Is(err, redisstore.ErrKey) {
			t.Errorf("%s: value %d: %v, want ErrKey", name, i, err)
		}
	}
	if joined := bytes.Join(found, nil); len(joined) > 0 {
		t.Errorf("%s: %q was read", name, joined)
	}
	list, err := s.Tasks().List(t.Context(), "x", "", 9)
	if err != nil || len(list) < 3 {
		t.Errorf("%s: a list of %d, %v", name, len(list), err)
	}
	for _, r := range list {
		if r.Readable() && strings.HasSuffix(r.ID, name) {
			t.Errorf("%s: a list has %+v", name, r)
		}
	}
}

// everything is all that a server holds.
func everything(t *testing.T, c *redis.Client) string {
	t.Helper()
	var all strings.Builder
	for it := c.Scan(t.Context(), 0, "*", 1000).Iterator(); it.Next(t.Context()); {
		key := it.Val()
		all.WriteString(key)
		var value any
		var err error
		switch kind := c.Type(t.Context(), key).Val(); kind {
		case "string":
			value, err = c.Get(t.Context(), key).Result()
		case "hash":
			value, err = c.HGetAll(t.Context(), key).Result()
		case "zset":
			value, err = c.ZRange(t.Context(), key, 0, -1).Result()
		case "stream":
			value, err = c.XRange(t.Context(), key, "-", "+").Result()
		default:
			t.Fatalf("%q is a %s", key, kind)
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s\n", value)
	}
	return all.String()
}

func TestNothingInTheClear(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redisserver.Start(t).Addr())
	open := storeWith(t, client, redisstore.Prefix("clear:"))
	keepSecrets(t, open, "a")
	if n := strings.Count(everything(t, client), secret); n != 10 {
		t.Fatalf("the secret is there %d times where nothing is sealed: this test does not see it", n)
	}
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s := storeWith(t, client, redisstore.Encrypt(newKey))
	keepSecrets(t, s, "a")
	wantSecrets(t, s, "a")
	if all := everything(t, client); strings.Contains(all, secret) || !strings.Contains(all, "kagami:s:a") {
		t.Errorf("in the clear:\n%q", all)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redisserver.Start(t).Addr())
	with := func(keys ...[]byte) *redisstore.Store { return storeWith(t, client, redisstore.Encrypt(keys...)) }
	before := with(oldKey)
	keepSecrets(t, before, "a")
	between := with(newKey, oldKey)
	wantSecrets(t, between, "a")
	keepSecrets(t, between, "b")
	wantSecrets(t, with(newKey), "b")
	wantNoSecrets(t, with(newKey), "a")
	wantNoSecrets(t, before, "b")
	wantNoSecrets(t, storeWith(t, client), "a")

	// What Redis compares is found, too, by who has both keys.
	ctx := t.Context()
	if _, mine, err := between.Claims().Claim(ctx, "a", []byte("other"), time.Hour); mine || err != nil {
		t.Errorf("claimed what is held: %v", err)
	}
	if ok, err := between.Claims().Swap(ctx, "a", []byte(secret), []byte("next"), time.Hour); !ok || err != nil {
		t.Errorf("not swapped: %v", err)
	}
	if v, err := with(newKey).Claims().Get(ctx, "a"); string(v) != "next" || err != nil {
		t.Errorf("after a swap: %q, %v", v, err)
	}
	if _, _, err := before.Claims().Claim(ctx, "fresh", []byte(secret), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := between.Claims().Delete(ctx, "fresh", []byte(secret)); err != nil {
		t.Fatal(err)
	}
	if _, err := before.Claims().Get(ctx, "fresh"); err == nil {
		t.Error("it was not deleted")
	}
}

// TestNotSealed checks that a store with a key does not use data that was written without
// encryption.
func TestNotSealed(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redisserver.Start(t).Addr())
	keepSecrets(t, storeWith(t, client), "a")
	wantNoSecrets(t, storeWith(t, client, redisstore.Encrypt(newKey)), "a")
}

// TestMoved: data that is put in another's place does not open, nor what was changed.
func TestMoved(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redisserver.Start(t).Addr())
	s := storeWith(t, client, redisstore.Encrypt(newKey))
	ctx := t.Context()
	for _, id := range []string{"a", "b"} {
		if err := s.Tasks().Create(ctx, working(id)); err != nil {
			t.Fatal(err)
		}
	}
	mine := client.HGet(ctx, s.RecordKey("a"), "d").Val()
	for name, change := range map[string][]any{
		"another's data": {"d", client.HGet(ctx, s.RecordKey("b"), "d").Val()},
		"another owner":  {"o", "y"},
		"other data":     {"d", mine[:len(mine)-1] + string(mine[len(mine)-1]^1)},
		"another key":    {"d", mine[:1] + "xxxx" + mine[5:]},
		"cut off":        {"d", mine[:5]},
		"empty":          {"d", ""},
	} {
		client.HSet(ctx, s.RecordKey("a"), change...)
		if _, err := s.Tasks().Get(ctx, "a"); !errors.Is(err, redisstore.ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
		client.HSet(ctx, s.RecordKey("a"), "d", mine, "o", "x")
	}
	if _, err := s.Tasks().Get(ctx, "a"); err != nil {
		t.Error(err)
	}
}

// TestMessagesAreSealed: who listens to Redis learns nothing, and who writes there is not
// believed.
func TestMessagesAreSealed(t *testing.T) {
	t.Parallel()
	client := clientOf(t, redisserver.Start(t).Addr())
	ctx, cancel := context.WithCancel(t.Context())
	between := storeWith(t, client, redisstore.Encrypt(oldKey, newKey))
	spy := client.PSubscribe(ctx, "*")
	defer func() { _ = spy.Close() }()
	if _, err := spy.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	heard, ended := make(chan []byte, 10), make(chan struct{})
	go func() {
		defer close(ended)
		_ = between.Changes().Subscribe(ctx, func(m []byte) { heard <- m })
	}()
	defer func() { cancel(); <-ended }()
	want := func(what, message string) {
		t.Helper()
		if got := <-heard; string(got) != message || (got == nil) != (message == "") {
			t.Errorf("%s: heard %q, want %q", what, got, message)
		}
	}
	want("subscribed", "")
	for _, key := range [][]byte{newKey, oldKey} {
		if err := storeWith(t, client, redisstore.Encrypt(key)).Changes().Publish(ctx, []byte(secret)); err != nil {
			t.Fatal(err)
		}
		want("sealed", secret)
		told, err := spy.ReceiveMessage(ctx)
		if err != nil || told.Payload == "" || strings.Contains(told.Payload, secret) {
			t.Errorf("on the wire is %q, %v", told, err)
		}
	}
	if err := storeWith(t, client).Changes().Publish(ctx, []byte("in the clear")); err != nil {
		t.Fatal(err)
	}
	want("in the clear", "")
	if err := client.Publish(ctx, "kagami:b", "").Err(); err != nil {
		t.Fatal(err)
	}
	want("empty", "")
}

// A list of keys that turns out to be empty must not leave everything in the clear.
func TestNoKey(t *testing.T) {
	t.Parallel()
	addr := redisserver.Start(t).Addr()
	if s, err := redisstore.Open(t.Context(), "redis://"+addr, redisstore.Encrypt()); err == nil || !strings.Contains(err.Error(), "Encrypt has no key") {
		t.Errorf("Open = %v, %v", s, err)
	}
	if err := storeOn(t, addr, redisstore.Encrypt()).Tasks().Create(t.Context(), working("a")); err == nil {
		t.Error("a task was created without a key")
	}
	if err := storeOn(t, addr, redisstore.Encrypt(), redisstore.Encrypt(newKey)).Tasks().Create(t.Context(), working("a")); err != nil {
		t.Errorf("with a key of another Encrypt: %v", err)
	}
}

func TestShortKey(t *testing.T) {
	t.Parallel()
	addr := redisserver.Start(t).Addr()
	for _, key := range [][]byte{nil, {}, []byte("15 bytes of key")} {
		if s, err := redisstore.Open(t.Context(), "redis://"+addr, redisstore.Encrypt(newKey, key)); err == nil {
			t.Errorf("a key of %d bytes is no error: %v", len(key), s.Close())
		}
		s := storeOn(t, addr, redisstore.Encrypt(key))
		if err := s.Tasks().Create(t.Context(), working("a")); err == nil {
			t.Errorf("a task was created with a key of %d bytes", len(key))
		}
		for name, call := range map[string]func() error{
			"Get":    func() error { _, err := s.Tasks().Get(t.Context(), "a"); return err },
			"Take":   func() error { _, err := s.Tasks().(task.Queue).Take(t.Context()); return err },
			"Claim":  func() error { _, err := s.Claims().Get(t.Context(), "a"); return err },
			"Append": func() error { _, err := s.Events().Append(t.Context(), "a", nil); return err },
			"Read":   func() error { _, err := s.Sessions().Get(t.Context(), "a"); return err },
			"Tell":   func() error { return s.Changes().Publish(t.Context(), []byte("a")) },
			"Listen": func() error { return s.Changes().Subscribe(t.Context(), func([]byte) {}) },
		} {
			if err := call(); err == nil || !strings.Contains(err.Error(), "Encrypt") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestSealedValueIsBoundToItsPlace checks that a sealed value can be read only at the place where it was stored. The
// parts of another place may join to the same text. The nonces of two places differ, because GCM
// needs a different nonce for each additional data.
func TestSealedValueIsBoundToItsPlace(t *testing.T) {
	t.Parallel()
	b, err := redisstore.NewBox(newKey)
	if err != nil {
		t.Fatal(err)
	}
	places := [][]string{{"ab", "c"}, {"a", "bc"}, {"abc"}, {"", "abc"}, {"abc", ""}}
	const nonceEnds = 1 + 8 + 12 // after the mark and the name of the key
	nonces := map[string]bool{}
	for _, from := range places {
		kept := b.Seal([]byte(secret), "session", from...)
		for _, at := range places {
			if _, err := b.Open(string(kept), "session", at...); (err == nil) != slices.Equal(from, at) {
				t.Errorf("of %q at %q: %v", from, at, err)
			}
		}
		one, again := b.Same([]byte(secret), "session", from...)[0], b.Same([]byte(secret), "session", from...)[0]
		if !bytes.Equal(one, again) {
			t.Errorf("%q has two forms", from)
		}
		nonces[string(one[:nonceEnds])] = true
	}
	if len(nonces) != len(places) {
		t.Errorf("%d nonces for %d places", len(nonces), len(places))
	}
}
