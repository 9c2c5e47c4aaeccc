package runner

// PlainBody is for the fuzz test of what no caller gets to see alone.
var PlainBody = plainBody
