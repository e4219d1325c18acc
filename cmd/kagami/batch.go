package main

import (
	"path/filepath"
	"regexp"
	"strings"
)

// isBatch reports whether Windows runs the program with cmd.exe, such as npx.cmd.
func isBatch(program, system string) bool {
	ext := strings.ToLower(filepath.Ext(program))
	return system == "windows" && (ext == ".cmd" || ext == ".bat")
}

// programName returns the name of a program without its directory. If it has an extension of Windows
// programs, programName removes the extension and returns the name in lower case.
func programName(path string) string {
	name := filepath.Base(path)
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".exe", ".com", ".cmd", ".bat":
		return strings.ToLower(name[:len(name)-len(ext)])
	}
	return name
}

var (
	cmdMeta    = regexp.MustCompile("[()\\[\\]%!^\"`<>&|;, *?]")
	beforeMark = regexp.MustCompile(`(\\*)"`)
	atEnd      = regexp.MustCompile(`(\\+)$`)
	npmShim    = regexp.MustCompile(`(?i)node_modules[\\/]\.bin[\\/][^\\/]+\.cmd$`)
)

// batchLine returns the command line that starts a batch file. os/exec does not escape arguments for
// cmd.exe, which would end the command at "&" in a URL. batchLine escapes them like the npm package
// cross-spawn, because clients start servers with that package.
func batchLine(path string, args []string) string {
	escaped := func(text string) string { return cmdMeta.ReplaceAllString(text, "^$0") }
	words := []string{escaped(strings.ReplaceAll(path, "/", `\`))} // cmd.exe takes "/" for the start of a switch
	for _, arg := range args {
		arg = beforeMark.ReplaceAllString(arg, `$1$1\"`)
		arg = escaped(`"` + atEnd.ReplaceAllString(arg, `$1$1`) + `"`)
		if npmShim.MatchString(path) { // a shim of npm expands its arguments once more
			arg = escaped(arg)
		}
		words = append(words, arg)
	}
	return `cmd.exe /d /s /c "` + strings.Join(words, " ") + `"`
}
