package testkit

import (
	"encoding/json"

	"github.com/kagami-mcp/kagami/framework"
)

// MistakesOf are the names of the mistakes that fit a tool.
func MistakesOf[In, Out any](tool *framework.ToolOf[In, Out]) ([]string, error) {
	j, err := newJudge(tool)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range j.mistakes() {
		names = append(names, m.name)
	}
	return names, nil
}

// Complaint is what Mistakes says of a tool that takes a mistake at path so.
func Complaint(check, legal func(json.RawMessage) error, path string) string {
	j := &judge{name: "t", check: check, legal: legal}
	return j.judge(mistake{name: "m", arguments: json.RawMessage("{}"), path: path})
}
