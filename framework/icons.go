package framework

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
)

// setIcons stores a copy of the icons. If an icon is invalid, setIcons returns the problem instead
// (2025-11-25 basic "Icons").
func setIcons(to *[]protocol.Icon, icons []protocol.Icon) (problem string) {
	for _, icon := range icons {
		switch {
		case icon.Src == "":
			return "an icon has no Src"
		case !iconSource(icon.Src):
			return fmt.Sprintf("clients refuse an icon from %q: it must be an absolute https or http URL, or a data URL", catalog.Clip(icon.Src))
		case slices.ContainsFunc(icon.Sizes, func(s string) bool { return !iconSize().MatchString(s) }):
			return fmt.Sprintf("got the sizes %q of an icon, want each like 48x48, or any", icon.Sizes)
		case icon.Theme != "" && icon.Theme != "light" && icon.Theme != "dark":
			return fmt.Sprintf("got the theme %q, want light, dark or \"\"", icon.Theme)
		}
	}
	*to = slices.Clone(icons)
	return ""
}

// iconSize matches one of an icon's sizes.
var iconSize = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]+x[0-9]+|any)$`) })

// iconSource reports whether clients accept an icon from src. They must refuse all other schemes.
func iconSource(src string) bool {
	u, err := url.Parse(src)
	return err == nil && u.Scheme == "data" || isWeb(src)
}

// isWeb reports whether address is an absolute URL that a browser opens.
func isWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}
