package manifest

// keyEnd returns the offset of the colon after the key at p, or -1 if there
// is no key that this package supports.
func (o *outliner) keyEnd(p, end int) int {
	line := o.data[p:end]
	var colon int
	switch line[0] {
	case '"', '\'':
		i := closingQuote(line)
		if i < 0 || i+1 >= len(line) || line[i+1] != ':' {
			return -1
		}
		colon = i + 1
	case '&', '*', '!', '%', '@', '`', '|', '>', '{', '}', '[', ']', ',', '#', '\t':
		return -1
	case '?', '-', ':':
		// These can start a plain scalar only if no space follows.
		if len(line) == 1 || isBlank(line[1]) {
			return -1
		}
		colon = plainKeyEnd(line)
	default:
		colon = plainKeyEnd(line)
	}
	if colon <= 0 || colon > maxKey || colon+1 < len(line) && line[colon+1] != ' ' || string(line[:colon]) == "<<" {
		return -1
	}
	return p + colon
}

// plainKeyEnd returns the position of the colon that ends a plain key, the
// first one before a blank or the end of the line, or -1.
func plainKeyEnd(line []byte) int {
	for i, c := range line {
		switch c {
		case ':':
			if i+1 == len(line) || isBlank(line[i+1]) {
				return i
			}
		case '\t':
			return -1
		case '#':
			if i > 0 && line[i-1] == ' ' {
				return -1
			}
		}
	}
	return -1
}

// closingQuote returns the offset of the quote that closes the one at the
// start of line, or -1 if it is not on this line.
func closingQuote(line []byte) int {
	quote := line[0]
	for i := 1; i < len(line); i++ {
		switch {
		case quote == '"' && line[i] == '\\':
			i++
		case line[i] != quote:
		case quote == '\'' && i+1 < len(line) && line[i+1] == '\'':
			i++
		default:
			return i
		}
	}
	return -1
}
