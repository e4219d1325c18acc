package httpserver

// Errors of Accept after which the server goes on. It does not warn of ErrAborted.
const ErrAborted = errAborted

var Shortages = shortages

// StyleHash is the hash of the style sheet of a page.
var StyleHash = styleHash
