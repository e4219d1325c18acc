package main

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"time"

	"go.uber.org/fx"
	_ "modernc.org/sqlite" // a driver in pure Go
)

//go:embed schema.sql
var schema string

// openDatabase opens the database when the program starts. It closes the database after all
// components that use it have stopped.
func openDatabase(lc fx.Lifecycle, cfg Config) (*sql.DB, error) {
	dsn := ":memory:"
	if cfg.Database != "" {
		dsn = "file:" + cfg.Database + "?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	db.SetMaxOpenConns(1) // a database in memory belongs to one connection, and SQLite allows only one writer
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

// collect returns all rows of a query.
func collect[T any](ctx context.Context, db *sql.DB, scan func(*T) []any, query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
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

// Clock returns the current time.
type Clock func() time.Time

func newClock() Clock { return time.Now }
