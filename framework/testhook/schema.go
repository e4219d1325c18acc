package testhook

import (
	"encoding/json"
	"errors"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
)

// Schema compiles a JSON Schema and returns a check of values by it. The dialect is 2020-12
// unless the schema names another. The check may be called concurrently; its error says where
// the value breaks the schema, and how.
func Schema(schema json.RawMessage) (check func(value json.RawMessage) error, err error) {
	raw, err := binding.CompileRaw(schema)
	if err != nil {
		return nil, err
	}
	return func(value json.RawMessage) error {
		if len(value) == 0 {
			return errors.New("there is no value")
		}
		return raw.Check(value)
	}, nil
}
