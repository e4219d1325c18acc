package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"regexp"
)

// plainError has a text for people instead of the text of err. The exit code depends on err.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }

// inWords says in words why a server could not be reached, and what to do. If it does not know the
// cause, it only removes the steps of the client from the text.
func inWords(server []string, err error) error {
	return &plainError{reason(server, err), err}
}

func reason(server []string, err error) string {
	u, failed := url.Parse(server[0])
	isAddress := failed == nil && isURL(server[0])
	name, unknown := errors.AsType[*net.DNSError](err)
	certificate, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	ended, crashed := errors.AsType[*exec.ExitError](err)
	switch {
	case unknown && name.IsNotFound:
		return fmt.Sprintf("there is no host %s: check the name in the URL", name.Name)
	case isRefused(err) && isAddress:
		return fmt.Sprintf("nothing listens at %s: start the server, or check the port", u.Host)
	case noTLS:
		return "the server does not speak TLS: use http:// instead of https://"
	case untrusted:
		return fmt.Sprintf("the certificate of the server is not valid: %v", certificate.Err)
	case isAddress || !errors.Is(err, io.ErrUnexpectedEOF):
		return withoutSteps(err)
	case crashed:
		return fmt.Sprintf("the program ended before it answered (%v): run it by hand to see why", ended)
	}
	return "the program ended before it answered: a server on stdio runs until its input ends"
}

// withoutSteps returns the text of an error without the names of the client's steps in front.
func withoutSteps(err error) string {
	text := err.Error()
	if sent, ok := errors.AsType[*url.Error](err); ok {
		text = sent.Err.Error()
	}
	return steps.ReplaceAllString(text, "")
}

var steps = regexp.MustCompile("^(client: |connecting: |server/discover: |initialize: )+")
