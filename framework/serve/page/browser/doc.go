// Package browser drives the page in Chromium, as a user does. It has tests only.
//
//	go test ./...                            # the stories
//	go test -run TestSite                    # the site of the guides, which this builds with npm
//	go test -run TestPictures -pictures DIR  # pictures of every screen
package browser
