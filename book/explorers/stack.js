// A stack of encoder layers that learns in the page to write words of five letters backwards: the
// Reverser of book/experiments/depth/backwards.py, with the same optimizer, batches and task. It
// comes before the explorer that shows it.
globalThis.stackOfLayers ??= (() => {
  const { sum, softmax } = globalThis.explorerKit;
  const LETTERS = 6, LENGTH = 5, BATCH = 16, WIDTH = 32, HEADS = 4, WIDE = 64;
  const HEAD = WIDTH / HEADS, ROWS = BATCH * LENGTH;

  // A part of the model takes numbers and returns what it makes of them, and the function that
  // takes the gradient of that back to the gradient of the numbers.

  const added = (one, other) => one.map((number, i) => number + other[i]);
  const same = (x) => [x, (slope) => slope];

  function linear({ from, to, weight, bias }, x) {
    const { now, slope: ofWeight } = weight;
    const y = new Float32Array(x.length / from * to);
    for (let start = 0, at = 0; at < y.length; start += from, at += to) {
      y.set(bias.now, at);
      for (let i = 0; i < from; i += 1) {
        const number = x[start + i], row = i * to;
        if (number !== 0) for (let o = 0; o < to; o += 1) y[at + o] += number * now[row + o];
      }
    }
    const back = (slope) => {
      const found = new Float32Array(x.length);
      for (let start = 0, at = 0; at < y.length; start += from, at += to) {
        for (let o = 0; o < to; o += 1) bias.slope[o] += slope[at + o];
        for (let i = 0; i < from; i += 1) {
          const number = x[start + i], row = i * to;
          let total = 0;
          for (let o = 0; o < to; o += 1) total += slope[at + o] * now[row + o];
          found[start + i] = total;
          if (number !== 0)
            for (let o = 0; o < to; o += 1) ofWeight[row + o] += number * slope[at + o];
        }
      }
      return found;
    };
    return [y, back];
  }

  function normalise({ gain, bias }, x) {
    const [unit, y] = [new Float32Array(x.length), new Float32Array(x.length)];
    const divisors = [];
    for (let at = 0; at < x.length; at += WIDTH) {
      const numbers = x.subarray(at, at + WIDTH);
      let [mean, variance] = [0, 0];
      for (const number of numbers) mean += number / WIDTH;
      for (const number of numbers) variance += (number - mean) ** 2 / WIDTH;
      const divisor = Math.sqrt(variance + 1e-5);
      divisors.push(divisor);
      for (let i = 0; i < WIDTH; i += 1) {
        unit[at + i] = (numbers[i] - mean) / divisor;
        y[at + i] = unit[at + i] * gain.now[i] + bias.now[i];
      }
    }
    const back = (slope) => {
      const found = new Float32Array(x.length);
      for (let at = 0; at < x.length; at += WIDTH) {
        let [plain, along] = [0, 0];
        for (let i = 0; i < WIDTH; i += 1) {
          bias.slope[i] += slope[at + i];
          gain.slope[i] += slope[at + i] * unit[at + i];
          plain += slope[at + i] * gain.now[i] / WIDTH;
          along += slope[at + i] * gain.now[i] * unit[at + i] / WIDTH;
        }
        for (let i = 0; i < WIDTH; i += 1)
          found[at + i] = (slope[at + i] * gain.now[i] - plain - unit[at + i] * along)
            / divisors[at / WIDTH];
      }
      return found;
    };
    return [y, back];
  }

  // Calls each with a word's first row, with two of its positions, and with a head's first feature.
  function everyPair(each) {
    for (let word = 0; word < ROWS; word += LENGTH)
      for (let head = 0; head < WIDTH; head += HEAD)
        for (let one = 0; one < LENGTH; one += 1)
          each((word + one) * WIDTH + head, Array.from({ length: LENGTH }, (_, other) =>
            (word + other) * WIDTH + head));
  }

  function attend(layer, x) {
    const [query, backQuery] = linear(layer.query, x);
    const [key, backKey] = linear(layer.key, x);
    const [value, backValue] = linear(layer.value, x);
    const mixed = new Float32Array(x.length);
    const dot = (one, i, other, j) => {
      let total = 0;
      for (let k = 0; k < HEAD; k += 1) total += one[i + k] * other[j + k];
      return total;
    };
    const weights = [];
    everyPair((here, places) => {
      const scores = places.map((place) => dot(query, here, key, place) / Math.sqrt(HEAD));
      const row = softmax(scores);
      weights.push(row);
      places.forEach((place, i) => {
        for (let k = 0; k < HEAD; k += 1) mixed[here + k] += row[i] * value[place + k];
      });
    });
    const [found, backOutput] = linear(layer.output, mixed);
    const back = (slope) => {
      const ofMixed = backOutput(slope);
      const [ofQuery, ofKey, ofValue] = [0, 0, 0].map(() => new Float32Array(x.length));
      let seen = 0;
      everyPair((here, places) => {
        const row = weights[seen++];
        const slopes = places.map((place) => dot(ofMixed, here, value, place));
        const mean = sum(row.map((weight, i) => weight * slopes[i]));
        places.forEach((place, i) => {
          const ofScore = row[i] * (slopes[i] - mean) / Math.sqrt(HEAD);
          for (let k = 0; k < HEAD; k += 1) {
            ofQuery[here + k] += ofScore * key[place + k];
            ofKey[place + k] += ofScore * query[here + k];
            ofValue[place + k] += row[i] * ofMixed[here + k];
          }
        });
      });
      return added(added(backQuery(ofQuery), backKey(ofKey)), backValue(ofValue));
    };
    return [found, back];
  }

  function feedForward(layer, x) {
    const [wide, backWide] = linear(layer.widen, x);
    const [found, backNarrow] = linear(layer.narrow, wide.map((number) => Math.max(number, 0)));
    const back = (slope) =>
      backWide(backNarrow(slope).map((number, i) => (wide[i] > 0 ? number : 0)));
    return [found, back];
  }

  // A part of a layer, with its norm and its residual connection where the stack has them.
  function placed(part, norm, { order, residual }, x) {
    const [read, backRead] = (order === "pre" ? normalise : (_, x) => same(x))(norm, x);
    const [found, backFound] = part(read);
    const [y, backSum] = (order === "post" ? normalise : (_, x) => same(x))(
      norm, residual ? added(x, found) : found);
    const back = (slope) => {
      const ofSum = backSum(slope);
      const ofPart = backRead(backFound(ofSum));
      return residual ? added(ofSum, ofPart) : ofPart;
    };
    return [y, back];
  }

  // A new stack.

  function generator(seed) { // mulberry32
    let state = Math.imul(seed, 0x9e3779b1);
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  function make({ depth, norm, residual, factor, rate, seed }) {
    const random = generator(seed);
    const tensors = [];
    const tensor = (size, number) => {
      const [slope, mean, square] = [0, 0, 0].map(() => new Float32Array(size));
      tensors.push({ now: Float32Array.from({ length: size }, number), slope, mean, square });
      return tensors.at(-1);
    };
    const within = (bound) => () => bound * (2 * random() - 1);
    // by Glorot's rule, times a factor
    const matrix = (from, to, times = 1) => ({ from, to,
      weight: tensor(from * to, within(times * Math.sqrt(6 / (from + to)))),
      bias: tensor(to, () => 0) });
    const oneNorm = () => ({ gain: tensor(WIDTH, () => 1), bias: tensor(WIDTH, () => 0) });
    const embedding = tensor(LETTERS * WIDTH, () => Math.sqrt(-2 * Math.log(1 - random()))
      * Math.cos(2 * Math.PI * random()));
    const layers = Array.from({ length: depth }, () => ({
      query: matrix(WIDTH, WIDTH), key: matrix(WIDTH, WIDTH), value: matrix(WIDTH, WIDTH),
      output: matrix(WIDTH, WIDTH, factor), widen: matrix(WIDTH, WIDE),
      narrow: matrix(WIDE, WIDTH, factor), norms: [oneNorm(), oneNorm()],
    }));
    const bound = within(1 / Math.sqrt(WIDTH)); // PyTorch's default
    const readout = { from: WIDTH, to: LETTERS, weight: tensor(WIDTH * LETTERS, bound),
      bias: tensor(LETTERS, bound) };
    const lastNorm = norm === "pre" ? oneNorm() : null;
    return { random, tensors, embedding, layers, lastNorm, readout, rate, residual, order: norm,
      step: 0, losses: [] };
  }

  const positions = Float32Array.from({ length: LENGTH * WIDTH }, (_, place) => {
    const [position, feature] = [Math.floor(place / WIDTH), place % WIDTH];
    const angle = position / 10000 ** ((feature - feature % 2) / WIDTH);
    return feature % 2 ? Math.cos(angle) : Math.sin(angle);
  });

  // How much of its vector a position has for itself: the root of 1 minus the mean cosine. The
  // squares of the differences of unit vectors are exact where the cosine would be rounded to 1.
  function ownShare(x) {
    let total = 0;
    for (let word = 0; word < ROWS; word += LENGTH) {
      const middle = new Float64Array(WIDTH);
      const units = Array.from({ length: LENGTH }, (_, i) => {
        const unit = Float64Array.from(x.subarray((word + i) * WIDTH, (word + i + 1) * WIDTH));
        const length = Math.sqrt(unit.reduce((all, number) => all + number * number, 0));
        for (let k = 0; k < WIDTH; k += 1) middle[k] += (unit[k] /= length) / LENGTH;
        return unit;
      });
      for (const unit of units)
        for (let k = 0; k < WIDTH; k += 1) total += (unit[k] - middle[k]) ** 2;
    }
    return Math.sqrt(total / (BATCH * (LENGTH - 1)));
  }

  // Read words, or new random ones; keep the gradients, and return what the plots show.
  function look(stack, letters = Array.from({ length: ROWS },
    () => Math.floor(LETTERS * stack.random()))) {
    for (const { slope } of stack.tensors) slope.fill(0);
    let x = new Float32Array(ROWS * WIDTH).map((_, at) =>
      stack.embedding.now[letters[Math.floor(at / WIDTH)] * WIDTH + at % WIDTH]
      + positions[at % (LENGTH * WIDTH)]);
    const backs = [], own = [];
    for (const layer of stack.layers) {
      for (const [i, part] of [attend, feedForward].entries()) {
        const [y, back] = placed((read) => part(layer, read), layer.norms[i], stack, x);
        backs.push(back);
        x = y;
      }
      own.push(ownShare(x));
    }
    const [last, backLast] = stack.lastNorm ? normalise(stack.lastNorm, x) : same(x);
    const [logits, backLogits] = linear(stack.readout, last);
    let loss = 0;
    const slopes = new Float32Array(logits.length);
    for (let row = 0; row < ROWS; row += 1) {
      const at = row % LENGTH;
      const wanted = letters[row - at + (LENGTH - 1 - at)];
      const numbers = [...logits.subarray(row * LETTERS, (row + 1) * LETTERS)];
      const shares = softmax(numbers);
      const largest = Math.max(...numbers); // a share may be too small for its logarithm
      const whole = sum(numbers.map((number) => Math.exp(number - largest)));
      loss += (Math.log(whole) + largest - numbers[wanted]) / ROWS;
      shares.forEach((share, i) => {
        slopes[row * LETTERS + i] = (share - (i === wanted ? 1 : 0)) / ROWS;
      });
    }
    const slope = backs.reduceRight((each, back) => back(each), backLast(backLogits(slopes)));
    slope.forEach((number, at) => {
      stack.embedding.slope[letters[Math.floor(at / WIDTH)] * WIDTH + at % WIDTH] += number;
    });
    const squares = ({ weight }) => weight.slope.reduce((all, each) => all + each * each, 0);
    const gradients = stack.layers.map((layer) => Math.sqrt(sum(["query", "key", "value", "output",
      "widen", "narrow"].map((name) => squares(layer[name])))));
    return { loss, own, gradients };
  }

  // A step of Adam with the gradients of the last look.
  function advance(stack) {
    stack.step += 1;
    const [first, second] = [1 - 0.9 ** stack.step, 1 - 0.999 ** stack.step];
    for (const { now, slope, mean, square } of stack.tensors)
      for (let i = 0; i < now.length; i += 1) {
        mean[i] += 0.1 * (slope[i] - mean[i]);
        square[i] += 0.001 * (slope[i] ** 2 - square[i]);
        now[i] -= stack.rate * mean[i] / first / (Math.sqrt(square[i] / second) + 1e-8);
      }
  }

  return { make, look, advance, LETTERS, LENGTH };
})();
