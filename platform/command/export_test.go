package command

// StepNames lists the steps of the three pipelines.
func StepNames(p *Pipeline) (commands, queries, events []string) {
	names := func(steps []Step) (names []string) {
		for _, s := range steps {
			names = append(names, s.Name)
		}
		return names
	}
	return names(p.commands), names(p.queries), names(p.events)
}
