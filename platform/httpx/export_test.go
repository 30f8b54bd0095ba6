package httpx

// LayerNames lists the layers, outermost first.
func (a *API) LayerNames() []string {
	var names []string
	for _, l := range a.layers() {
		names = append(names, l.name)
	}
	return names
}
