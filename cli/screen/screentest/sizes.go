package screentest

// Sizes are the sizes of the golden frames, in columns and rows.
var Sizes = [][2]int{{80, 24}, {120, 40}, {200, 60}}
