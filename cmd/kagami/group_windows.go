package main

import (
	"errors"
	"os/exec"
)

// group does nothing.
func group(*exec.Cmd) {}

// interruptGroup returns an error, because Windows has no such signal.
func interruptGroup(*exec.Cmd) error { return errors.ErrUnsupported }

// killGroup ends the program.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
