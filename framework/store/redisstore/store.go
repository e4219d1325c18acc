package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// ErrClosed says that Close has been called.
var ErrClosed = errors.New("redisstore: closed")

// Timeouts of a client that Open makes, unless the URL sets them.
const (
	dialTimeout = time.Second
	ioTimeout   = 1500 * time.Millisecond
)

// Store has the ports on one Redis. Safe for concurrent use; made by New or Open.
type Store struct {
	client   redis.UniversalClient
	owned    bool // the client is closed with the store
	prefix   string
	box      box
	fault    error // of the options: every operation that stores or reads fails with it
	sessions sessions
	tasks    tasks
	events   events
	claims   claims
	changes  changes

	mu      sync.Mutex // guards all below
	closed  bool
	running map[*context.CancelCauseFunc]struct{}
	all     sync.WaitGroup // of running
}

// New returns a store on the caller's client, which stays the caller's: Close does not
// close it. Nothing is sent before the first use. The client must not be nil.
func New(client redis.UniversalClient, opts ...Option) *Store {
	o := settle(opts)
	s := &Store{client: client, prefix: o.prefix, running: map[*context.CancelCauseFunc]struct{}{}}
	if s.box, s.fault = newBox(o.keys); o.sealed && len(o.keys) == 0 {
		s.fault = errors.New("redisstore: Encrypt has no key")
	}
	if strings.ContainsAny(o.prefix, "{}") {
		s.fault = fmt.Errorf("redisstore: prefix %q: braces tell a Cluster which part of a key decides its slot, use other characters", o.prefix)
	}
	s.sessions = sessions{s}
	s.claims = claims{s}
	s.changes = changes{s}
	s.events = events{store: s, bounds: o.events}
	s.tasks = newTasks(s, o)
	return s
}

// Open returns a store with a client of its own, for redis://, rediss:// (TLS) and unix://,
// with the parameters of redis.ParseURL. The error says that the URL or an option is not
// valid, or that Redis does not answer, within about two seconds or what dial_timeout and
// read_timeout in the URL say, or that this Redis has only a part of the keys of a Cluster:
// that takes a client of the program's own, see New.
func Open(ctx context.Context, address string, opts ...Option) (*Store, error) {
	if u, err := url.Parse(address); err == nil && u.Opaque != "" { // it would be localhost:6379
		return nil, errors.New("redisstore: the URL of Redis: want redis://HOST:PORT/DB, the // is missing")
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		// The text of a *url.Error has the password.
		if bad := (*url.Error)(nil); errors.As(err, &bad) {
			err = errors.New("it cannot be read; write %23, %2F, %3F for #, / and ? in a password")
		}
		return nil, fmt.Errorf("redisstore: the URL of Redis: %w", err)
	}
	sane(options)
	s := New(redis.NewClient(options), opts...)
	s.owned = true
	if err := s.ping(ctx, options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// sane sets timeouts, so that a Redis that cannot be reached is an error, and turns off what
// the store does itself or not at all.
func sane(o *redis.Options) {
	for _, t := range []struct {
		set   *time.Duration
		value time.Duration
	}{{&o.DialTimeout, dialTimeout}, {&o.ReadTimeout, ioTimeout}, {&o.WriteTimeout, ioTimeout}, {&o.PoolTimeout, ioTimeout}} {
		if *t.set == 0 {
			*t.set = t.value
		}
	}
	if o.MaxRetries == 0 {
		o.MaxRetries = -1
	}
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func (s *Store) ping(ctx context.Context, o *redis.Options) error {
	if s.fault != nil {
		return s.fault
	}
	if o.ReadTimeout > 0 { // negative: no timeout
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.DialTimeout+o.ReadTimeout)
		defer cancel()
	}
	if err := s.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redisstore: asking whether Redis is there: %w", err)
	}
	// A client without the right to ask, or a Redis without Cluster, gives an error.
	if info, err := s.client.ClusterInfo(ctx).Result(); err == nil && severalShards.MatchString(info) {
		return errors.New("redisstore: this Redis has a part of a Cluster: give redisstore.New a client of redis.NewClusterClient")
	}
	return nil
}

// severalShards is part of a Cluster node's answer, unless the node has all slots.
var severalShards = regexp.MustCompile(`(?m)^cluster_size:([2-9]|1\d)`)

// Close ends waiting calls of Take and Subscribe with ErrClosed, and waits for them; so it
// must not be called from a subscribed function. Tasks that were taken stay taken until
// another store releases them or their leases run out. A client given to New stays open.
// Closing again does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	before := s.closed
	s.closed = true
	for cancel := range s.running {
		(*cancel)(ErrClosed)
	}
	s.mu.Unlock()
	s.tasks.line.close()
	s.all.Wait()
	if before || !s.owned {
		return nil
	}
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("redisstore: closing the client: %w", err)
	}
	return nil
}

// begin is for operations that take long: Close cancels their context and waits for end.
func (s *Store) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		cancel(ErrClosed)
		return nil, nil, ErrClosed
	}
	s.all.Add(1)
	s.running[&cancel] = struct{}{}
	return ctx, func() {
		cancel(nil)
		s.mu.Lock()
		delete(s.running, &cancel)
		s.mu.Unlock()
		s.all.Done()
	}, nil
}

// Sessions returns the session.Store. Each record expires by itself.
func (s *Store) Sessions() session.Store { return &s.sessions }

// Tasks returns the task.Store, which is also a task.Queue.
func (s *Store) Tasks() task.Store { return &s.tasks }

// Events returns the eventlog.Store.
func (s *Store) Events() eventlog.Store { return &s.events }

// Changes returns the change.Bus. Redis shares channels between databases: stores that
// differ only in the number of the database hear each other.
func (s *Store) Changes() change.Bus { return &s.changes }

// Claims returns the claim.Store.
func (s *Store) Claims() claim.Store { return &s.claims }
