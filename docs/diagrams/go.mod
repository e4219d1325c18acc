module github.com/kagami-mcp/kagami/docs/diagrams

go 1.26.0
