"""Small modules in LLVM IR for tests of the native engine's last stages."""

from __future__ import annotations

LLVM_TYPES = {"f64": "double", "f32": "float"}


def map_ir(call: str, dtype: str, operands: int = 1) -> str:
    """A loop that puts `call` of each element (with itself as second operand, if there is one) into the result."""
    kind = LLVM_TYPES[dtype]
    passed = ", ".join([f"{kind} %v", f"{kind} %w"][:operands])
    return f"""
define i32 @entry(ptr %buffers, ptr %sizes, ptr %context) {{
start:
  %x = load ptr, ptr %buffers
  %p.y = getelementptr ptr, ptr %buffers, i64 1
  %y = load ptr, ptr %p.y
  %p.z = getelementptr ptr, ptr %buffers, i64 {operands}
  %z = load ptr, ptr %p.z
  %n = load i64, ptr %sizes
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %end
loop:
  %i = phi i64 [ 0, %start ], [ %j, %loop ]
  %p.v = getelementptr {kind}, ptr %x, i64 %i
  %v = load {kind}, ptr %p.v
  %p.w = getelementptr {kind}, ptr %y, i64 %i
  %w = load {kind}, ptr %p.w
  %s = call {kind} @{call}({passed})
  %p.s = getelementptr {kind}, ptr %z, i64 %i
  store {kind} %s, ptr %p.s
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 0
}}
"""


SUM_X_SIN_X = """
define i32 @entry(ptr %buffers, ptr %sizes, ptr %context) {
start:
  %x = load ptr, ptr %buffers
  %p.s = getelementptr ptr, ptr %buffers, i64 1
  %s = load ptr, ptr %p.s
  %p.g = getelementptr ptr, ptr %buffers, i64 2
  %g = load ptr, ptr %p.g
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %j, %loop ]
  %sum = phi double [ 0.0, %start ], [ %sum.next, %loop ]
  %p.v = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p.v
  %sin = call double @wg.sin.f64(double %v)
  %cos = call double @wg.cos.f64(double %v)
  %term = fmul double %v, %sin
  %sum.next = fadd reassoc double %sum, %term
  %rest = fmul double %v, %cos
  %slope = fadd double %sin, %rest
  %p.slope = getelementptr double, ptr %g, i64 %i
  store double %slope, ptr %p.slope
  %j = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %j, 10
  br i1 %more, label %loop, label %end
end:
  store double %sum.next, ptr %s
  ret i32 0
}
"""

# Gives its argument back in memory of its own, and its extent in a size.
FILLED = """
declare ptr @wengert_take(i64)
declare ptr @memcpy(ptr, ptr, i64)
define i32 @entry(ptr %buffers, ptr %sizes, ptr %context) {
  %x = load ptr, ptr %buffers
  %p.y = getelementptr ptr, ptr %buffers, i64 1
  %n = load i64, ptr %sizes
  %bytes = mul i64 %n, 8
  %y = call ptr @wengert_take(i64 %bytes)
  %same = call ptr @memcpy(ptr %y, ptr %x, i64 %bytes)
  store ptr %y, ptr %p.y
  %p.m = getelementptr i64, ptr %sizes, i64 1
  store i64 %n, ptr %p.m
  ret i32 0
}
"""


def failing_ir(status: int, buffer: int) -> str:
    """Code that ends with a status and names a buffer."""
    return f"""
define i32 @entry(ptr %buffers, ptr %sizes, ptr %context) {{
  store i64 {buffer}, ptr %context
  ret i32 {status}
}}
"""
