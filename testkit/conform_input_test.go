package testkit

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// asksForms declares a client that shows forms.
const asksForms = `{"elicitation":{}}`

// Error codes of 2026-07-28 (basic, "Error Codes").
const (
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// inputRules are about questions to the client's user.
func inputRules() []kagamiRule {
	live := func(d *dialect.Dialect) bool { return d.Handshake() && d.Elicits() }
	return []kagamiRule{
		{
			number: "input-1", source: "client/elicitation", text: "A client that can be asked is asked by elicitation/create, and its answer reaches the tool.",
			at: live, caps: asksForms, check: asksLive,
		},
		{
			number: "input-2", source: "client/elicitation", text: "A client that cannot be asked is not.",
			at: (*dialect.Dialect).Handshake, check: func(w *visitor) error {
				if _, err := w.ask("tools/call", callOf(guestAsk, "{}")); err != nil {
					return err
				}
				return w.unheard(protocol.MethodElicit)
			},
		},
		{
			number: "input-3", source: "basic, \"Error Codes\"", text: "If a call asks a client that cannot be asked, it is refused with -32021, which names the missing capability.",
			at: (*dialect.Dialect).InputRounds, check: lacksCapability,
		},
	}
}

// roundRules are about calls that go in rounds.
func roundRules() []kagamiRule {
	rules := []kagamiRule{
		{
			number: "input-4", text: "A call that asks is answered with input_required: requests of a method and params, no cache hints.",
			check: inRounds(func(*visitor, *inputRound) error { return nil }),
		},
		{
			number: "input-5", text: "The call with the answers and the state goes on; answers to other questions are ignored.",
			check: inRounds(func(w *visitor, round *inputRound) error {
				return w.concludes(round.with(said, `"testkit":{"action":"decline"}`))
			}),
		},
		{
			number: "input-6", text: "A state that was tampered with is refused.",
			check: inRounds(func(w *visitor, round *inputRound) error {
				if round.state == "" {
					return errNoSubject
				}
				round.state = tampered(round.state)
				return w.refuses(round.with(said))
			}),
		},
		{
			number: "input-7", text: "A state belongs to its call: with another one it is refused.",
			check: inRounds(func(w *visitor, round *inputRound) error {
				if round.state == "" {
					return errNoSubject
				}
				round.call = `"name":"` + guestPoll + `"`
				return w.refuses(round.with(said))
			}),
		},
		{
			number: "input-8", text: "If an answer is missing, it is asked for again.",
			check: inRounds(func(w *visitor, round *inputRound) error {
				_, err := w.required(round.with(""))
				return err
			}),
		},
		{
			number: "input-9", text: "Values that are not answers are refused, and never taken for a result.",
			check: inRounds(func(w *visitor, round *inputRound) error {
				return errors.Join(w.refuses(round.with("7")), w.refuses(round.with("null")), w.refuses(round.with(`"Ann"`)))
			}),
		},
	}
	for i := range rules {
		rules[i].source, rules[i].at, rules[i].caps = "basic/patterns/mrtr", (*dialect.Dialect).InputRounds, asksForms
	}
	return rules
}

// said is the answer to question.
const said = `{"action":"accept","content":{"value":"Ann"}}`

func asksLive(w *visitor) error {
	if err := w.send(w.request("tools/call", callOf(guestAsk, "{}"))); err != nil {
		return err
	}
	q, err := w.read()
	if err != nil {
		return err
	}
	var form struct{ Message, RequestedSchema json.RawMessage }
	if q.Method != protocol.MethodElicit || q.ID == nil || json.Unmarshal(q.Params, &form) != nil || !isObject(form.RequestedSchema) || form.Message == nil {
		return errors.New("want a request elicitation/create with message and requestedSchema")
	}
	if err := w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, said)); err != nil {
		return err
	}
	r, err := w.answer()
	if err == nil {
		err = mentionsAnn(r)
	}
	return err
}

func mentionsAnn(r *response) error {
	var found struct{ Content []struct{ Text string } }
	if json.Unmarshal(r.Result, &found) != nil || len(found.Content) != 1 || found.Content[0].Text != "Ann" {
		return errors.New(`want the answer "Ann" as the result`)
	}
	return nil
}

func lacksCapability(w *visitor) error {
	r, err := w.ask("tools/call", callOf(guestAsk, "{}"))
	if err == nil {
		err = oneOf(r, codeMissingCapability)
	}
	if err != nil {
		return err
	}
	required, _ := jsontext.Member(r.Error.Data, "requiredCapabilities")
	if needed, _ := jsontext.Member(required, "elicitation"); !isObject(needed) {
		return errors.New("want data with requiredCapabilities, and elicitation in it")
	}
	return nil
}

// inputRound is the input_required answer to a call that asks.
type inputRound struct{ call, key, state string }

// inRounds begins a call that asks.
func inRounds(check func(*visitor, *inputRound) error) func(*visitor) error {
	return func(w *visitor) error {
		round, err := w.required(`"name":"` + guestAsk + `"`)
		if err != nil {
			return err
		}
		return check(w, round)
	}
}

// required sends a call, which must be answered with the question.
func (w *visitor) required(params string) (*inputRound, error) {
	r, err := w.served("tools/call", "{"+params+"}")
	if err != nil {
		return nil, err
	}
	var found struct {
		ResultType    string
		InputRequests map[string]map[string]json.RawMessage
		RequestState  *string
		TTL           json.RawMessage `json:"ttlMs"`
		CacheScope    json.RawMessage
	}
	if json.Unmarshal(r.Result, &found) != nil || found.ResultType != "input_required" || len(found.InputRequests) != 1 {
		return nil, errors.New("want input_required with one input request")
	}
	round := &inputRound{call: `"name":"` + guestAsk + `"`}
	if found.RequestState != nil {
		round.state = *found.RequestState
	}
	for key, request := range found.InputRequests {
		round.key = key
		if string(request["method"]) != `"`+protocol.MethodElicit+`"` || !isObject(request["params"]) || len(request) != 2 {
			return nil, errors.New("want an input request of method and params alone")
		}
	}
	if found.TTL != nil || found.CacheScope != nil {
		return nil, errors.New("want no cache hints")
	}
	return round, nil
}

// with returns the params of the next round. An answer of "" is left out.
func (r *inputRound) with(answer string, more ...string) string {
	responses := "{}"
	if answer != "" {
		responses = fmt.Sprintf("{%q:%s}", r.key, answer)
	}
	for _, m := range more {
		responses = joined(responses, "{"+m+"}")
	}
	params := r.call + `,"inputResponses":` + responses
	if r.state != "" {
		params += fmt.Sprintf(`,"requestState":%q`, r.state)
	}
	return params
}

// concludes sends a round, which must end the call with the answer as its result.
func (w *visitor) concludes(params string) error {
	r, err := w.served("tools/call", "{"+params+"}")
	if err == nil {
		err = mentionsAnn(r)
	}
	return err
}

// refuses sends a round, which must be answered with error -32602.
func (w *visitor) refuses(params string) error {
	return w.refused("tools/call", "{"+params+"}", jsonrpc.CodeInvalidParams)
}
