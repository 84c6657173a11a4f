// Writes a safetensors file with nlpodyssey/safetensors: safetensors_writer IN.json OUT.
// IN.json: a list of objects with a name, a dtype, a shape and the data in base64.
package main

import (
	"encoding/json"
	"os"

	"github.com/nlpodyssey/safetensors"
)

func check[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	var tensors []struct {
		Name, Dtype string
		Shape       []uint64
		Data        []byte
	}
	if err := json.Unmarshal(check(os.ReadFile(os.Args[1])), &tensors); err != nil {
		panic(err)
	}
	views := make(map[string]safetensors.TensorView)
	for _, tensor := range tensors {
		dtype := check(safetensors.ParseDType(tensor.Dtype))
		views[tensor.Name] = check(safetensors.NewTensorView(dtype, tensor.Shape, tensor.Data))
	}
	file := check(safetensors.Serialize(views, map[string]string{"writer": "Go"}))
	if err := os.WriteFile(os.Args[2], file, 0o666); err != nil {
		panic(err)
	}
}
