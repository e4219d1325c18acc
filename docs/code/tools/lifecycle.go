package main

import (
	"context"
	"os"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware"
)

// NewAudited returns the app with a file for audits. The file is closed after the last call.
func NewAudited(path string) (*framework.App, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return NewApp().Use(middleware.Audit(file)).OnStop(func(context.Context, *framework.Server) error {
		return file.Close()
	}), nil
}
