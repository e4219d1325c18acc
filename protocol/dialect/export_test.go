package dialect

// ClientMethod reports whether a client may send the request under this revision.
func (d *Dialect) ClientMethod(method string) bool {
	m, ok := d.methods[method]
	return ok && m.client && m.request
}

// ServerNotification reports whether a server may send the notification under this revision.
func (d *Dialect) ServerNotification(method string) bool {
	m, ok := d.methods[method]
	return ok && m.server && !m.request
}

// InSchema reports whether the method is in the schema of the revision. Methods of extensions are
// not.
func (d *Dialect) InSchema(method string) bool {
	m, ok := d.methods[method]
	return ok && !m.extension.has(d)
}
