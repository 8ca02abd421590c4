// Package static is the files of the pages: templates, styles, scripts and
// drawings, embedded as they are. How they are named, cached and compressed on
// the way out is decided in package web.
package static

import "embed"

// Files holds the served files at its root (wait.js, base.css, favicon.svg, ...)
// and the html/template pages, which are not served, under pages/.
//
//go:embed *.css *.js *.svg robots.txt pages/*.html
var Files embed.FS
