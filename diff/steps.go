package diff

// SharedSteps returns the number of bytes that two paths share from the start, up to
// the end of a step that is not the last of either path. From is the end of a step.
func SharedSteps(a, b string, from int) int {
	quoted, inside, last := false, false, from
	for i := from; i < len(a) && i < len(b); i++ {
		if !quoted && (!inside || a[i] == '[') && isStepEnd(a[i]) && isStepEnd(b[i]) && i > from {
			last = i
		}
		if a[i] != b[i] {
			break
		}
		switch {
		case a[i] == '\\' && quoted && i+1 < len(a) && i+1 < len(b) && a[i+1] == b[i+1]:
			i++
		case a[i] == '"':
			quoted = !quoted
		case quoted:
		case a[i] == '[':
			inside = true
		case a[i] == ']':
			inside = false
		}
	}
	return last
}

// isStepEnd reports whether a byte of a path ends the step before it.
func isStepEnd(c byte) bool { return c == '.' || c == '[' || c == ' ' }
