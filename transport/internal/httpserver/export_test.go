package httpserver

// Errors of Accept after which the server goes on. It does not warn of ErrAborted.
const ErrAborted = errAborted

var Shortages = shortages
