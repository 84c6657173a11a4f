float relu6(float x);

int main() {
  return relu6(7) == 6.F ? 0 : 1;
}
