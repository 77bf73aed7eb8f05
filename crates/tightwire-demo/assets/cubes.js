// Draws many cubes on a plane with WebGL2: one call for all of them, one more for their shadows.

/** Floats of an instance: position, orientation, half a side, look (0 asleep to 1 awake, 2 a player, 3 the own). */
export const FLOATS = 9;

const CUBES = {
  vertex: `#version 300 es
    layout(location = 0) in vec3 corner;
    layout(location = 1) in vec3 normal;
    layout(location = 2) in vec3 place;
    layout(location = 3) in vec4 turn;
    layout(location = 4) in vec2 look;
    uniform mat4 camera;
    uniform vec3 sun, asleep, awake, player, own;
    uniform bool shadow;
    out vec3 colour, side, face;
    vec3 turned(vec3 v) { return v + 2.0 * cross(turn.xyz, cross(turn.xyz, v) + turn.w * v); }
    void main() {
      vec3 world = place + turned(corner * look.x);
      if (shadow) world -= sun * max(world.y, 0.0) / sun.y;
      colour = look.y > 2.5 ? own : look.y > 1.5 ? player : mix(asleep, awake, clamp(look.y, 0.0, 1.0));
      side = turned(normal);
      // Along the normal it is beyond every edge, and does not count.
      face = corner * (1.0 - abs(normal));
      gl_Position = camera * vec4(world, 1.0);
    }`,
  fragment: `#version 300 es
    precision highp float;
    in vec3 colour, side, face;
    uniform vec3 sun;
    uniform bool shadow;
    uniform float shade;
    out vec4 pixel;
    void main() {
      if (shadow) { pixel = vec4(0.0, 0.0, 0.0, shade); return; }
      float lit = 0.7 + 0.14 * side.y + 0.3 * max(dot(normalize(side), sun), 0.0);
      float edge = max(abs(face.x), max(abs(face.y), abs(face.z)));
      pixel = vec4(colour * lit * (1.0 - 0.16 * smoothstep(0.84, 0.97, edge)), 1.0);
    }`,
};

const GROUND = {
  vertex: `#version 300 es
    layout(location = 0) in vec2 corner;
    uniform mat4 camera;
    uniform vec3 target;
    out vec2 place;
    void main() {
      place = target.xz + corner * 120.0;
      gl_Position = camera * vec4(place.x, 0.0, place.y, 1.0);
    }`,
  fragment: `#version 300 es
    precision highp float;
    in vec2 place;
    uniform vec3 target, ground, line, sky;
    out vec4 pixel;
    float grid(vec2 at) {
      vec2 near = abs(fract(at - 0.5) - 0.5) / max(fwidth(at), vec2(1e-4));
      return 1.0 - min(min(near.x, near.y), 1.0);
    }
    void main() {
      float far = smoothstep(12.0, 60.0, distance(place, target.xz));
      float drawn = grid(place / 2.0) * (1.0 - smoothstep(8.0, 30.0, distance(place, target.xz)));
      pixel = vec4(mix(mix(ground, line, drawn), sky, far), 1.0);
    }`,
};

const SUN = normalize([0.42, 0.8, 0.36]);

function normalize(v) {
  const length = Math.hypot(...v);
  return v.map((x) => x / length);
}

/** Whether WebGL2 is there, and computed by a graphics card. */
export function isWebglFast() {
  const gl = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!gl) return false;
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

/** A renderer for a canvas, or null where there is no WebGL2. */
export function webglCubes(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: true, stencil: true });
  if (!gl) return null;
  let made = make(gl);
  canvas.addEventListener("webglcontextlost", (event) => {
    event.preventDefault();
    made = null;
  });
  canvas.addEventListener("webglcontextrestored", () => (made = make(gl)));
  return {
    kind: "webgl2",
    draw: (instances, count, camera, colours) => made && draw(gl, made, instances, count, camera, colours),
  };
}

function make(gl) {
  const cubes = program(gl, CUBES);
  const ground = program(gl, GROUND);
  const { corners, faces } = box();

  const instances = gl.createBuffer();
  const cubeArray = gl.createVertexArray();
  gl.bindVertexArray(cubeArray);
  attribute(gl, corners, 0, 3);
  attribute(gl, faces, 1, 3);
  gl.bindBuffer(gl.ARRAY_BUFFER, instances);
  [[2, 3, 0], [3, 4, 3], [4, 2, 7]].forEach(([at, size, from]) => {
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, gl.FLOAT, false, FLOATS * 4, from * 4);
    gl.vertexAttribDivisor(at, 1);
  });

  const groundArray = gl.createVertexArray();
  gl.bindVertexArray(groundArray);
  attribute(gl, [-1, -1, 1, -1, -1, 1, 1, 1], 0, 2);
  return { cubes, ground, instances, cubeArray, groundArray, vertices: corners.length / 3 };
}

function attribute(gl, values, at, size) {
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.STATIC_DRAW);
  gl.enableVertexAttribArray(at);
  gl.vertexAttribPointer(at, size, gl.FLOAT, false, 0, 0);
}

function program(gl, source) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, source.vertex], [gl.FRAGMENT_SHADER, source.fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`a shader does not link: ${gl.getProgramInfoLog(made)}`);
  }
  const places = new Map();
  const place = (name) => {
    if (!places.has(name)) places.set(name, gl.getUniformLocation(made, name));
    return places.get(name);
  };
  return { made, place };
}

/** Two triangles for each of the six faces, from -1 to 1. */
function box() {
  const corners = [];
  const faces = [];
  for (let axis = 0; axis < 3; axis++) {
    for (const sign of [-1, 1]) {
      const around = sign > 0 ? [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]
        : [[-1, -1], [1, 1], [1, -1], [-1, -1], [-1, 1], [1, 1]];
      for (const [u, v] of around) {
        const corner = [0, 0, 0];
        const normal = [0, 0, 0];
        corner[axis] = normal[axis] = sign;
        corner[(axis + 1) % 3] = u;
        corner[(axis + 2) % 3] = v;
        corners.push(...corner);
        faces.push(...normal);
      }
    }
  }
  return { corners, faces };
}

function draw(gl, made, instances, count, camera, colours) {
  gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
  gl.clearColor(...colours.sky, 1);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);

  const { ground, cubes } = made;
  gl.disable(gl.CULL_FACE);
  gl.disable(gl.DEPTH_TEST);
  gl.useProgram(ground.made);
  gl.uniformMatrix4fv(ground.place("camera"), false, camera.matrix);
  gl.uniform3fv(ground.place("target"), camera.target);
  for (const name of ["ground", "line", "sky"]) gl.uniform3fv(ground.place(name), colours[name]);
  gl.bindVertexArray(made.groundArray);
  gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);

  gl.useProgram(cubes.made);
  gl.uniformMatrix4fv(cubes.place("camera"), false, camera.matrix);
  gl.uniform3fv(cubes.place("sun"), SUN);
  gl.uniform1f(cubes.place("shade"), colours.shade);
  for (const name of ["asleep", "awake", "player", "own"]) gl.uniform3fv(cubes.place(name), colours[name]);
  gl.bindVertexArray(made.cubeArray);
  gl.bindBuffer(gl.ARRAY_BUFFER, made.instances);
  gl.bufferData(gl.ARRAY_BUFFER, instances.subarray(0, count * FLOATS), gl.DYNAMIC_DRAW);

  // Shadows first, flat on the ground. The stencil lets each pixel darken once, however many overlap.
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  gl.enable(gl.STENCIL_TEST);
  gl.stencilFunc(gl.EQUAL, 0, 255);
  gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
  gl.uniform1i(cubes.place("shadow"), 1);
  gl.drawArraysInstanced(gl.TRIANGLES, 0, made.vertices, count);
  gl.disable(gl.STENCIL_TEST);
  gl.disable(gl.BLEND);

  gl.enable(gl.DEPTH_TEST);
  gl.enable(gl.CULL_FACE);
  gl.uniform1i(cubes.place("shadow"), 0);
  gl.drawArraysInstanced(gl.TRIANGLES, 0, made.vertices, count);
}
