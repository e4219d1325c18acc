package main

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"time"

	"go.uber.org/fx"
	_ "modernc.org/sqlite" // the driver, in Go alone
)

//go:embed schema.sql
var schema string

// openDatabase opens the file when the program starts, and closes it after everything
// that uses it.
func openDatabase(lc fx.Lifecycle, cfg Config) (*sql.DB, error) {
	dsn := ":memory:"
	if cfg.Database != "" {
		dsn = "file:" + cfg.Database + "?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	db.SetMaxOpenConns(1) // a database in memory is one connection's, and SQLite has one writer anyway
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			if _, err := db.ExecContext(ctx, schema); err != nil {
				return fmt.Errorf("preparing the database: %w", err)
			}
			return nil
		},
		OnStop: func(context.Context) error { return db.Close() },
	})
	return db, nil
}

// collect reads all rows.
func collect[T any](ctx context.Context, db *sql.DB, scan func(*T) []any, query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err has it
	var all []T
	for rows.Next() {
		var one T
		if err := rows.Scan(scan(&one)...); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// Clock says what time it is.
type Clock func() time.Time

func newClock() Clock { return time.Now }
