//go:build long

package rigtest

// long says whether the tests may take as long as they like.
const long = true
