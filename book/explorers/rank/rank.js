// A low rank (ch13): what fine-tuning changed in a matrix, cut to a rank that the reader chooses, as
// the product of two thin matrices, and what a model loses if all its changes are cut so. All
// numbers come with the state: `whole` is the change, `up` (rows, ranks) and `down` (ranks, columns)
// are B and A, the largest singular value first; `losses` has one for each rank from 0 on, `uncut`
// is that of the whole changes, and `trained` maps a rank to the losses [lowest, highest] of LoRA
// that was trained with it.
(() => {
  const { change, html, draw, svg, figure, path, level, slider, sum, shown, mount } =
    globalThis.explorerKit;
  const start = { rank: 2 };
  const GAP = 4, LEVELS = 5; // of a drawing: between matrices, and tints of a sign
  const WIDTH = 640, HEIGHT = 250, LEFT = 74, RIGHT = 14, TOP = 14, BOTTOM = 34;

  const square = (matrix) => sum(matrix.flat().map((number) => number ** 2));
  const written = (number) => number.toLocaleString("en");

  // B, A and their product, cut to a rank, how many numbers B and A have, and how much of the squares
  // of the whole change the product keeps.
  function compute({ whole, up, down, rank }) {
    const [left, right] = [up.map((row) => row.slice(0, rank)), down.slice(0, rank)];
    const times = (one, other) => one.map((row) =>
      other[0].map((_, j) => sum(row.map((number, i) => number * other[i][j]))));
    const product = rank ? times(left, right) : whole.map((row) => row.map(() => 0));
    const numbers = rank * (up.length + down[0].length);
    return { left, right, product, numbers, kept: square(product) / square(whole) };
  }

  // Groups of cells, one for each sign and tint, so that a matrix is ten paths and not 4,096 parts.
  function cells(parent, size) {
    const groups = [-1, 1].flatMap((sign) => Array.from({ length: LEVELS }, (_, i) => ({ sign,
      tint: i + 1, drawn: draw(parent, "path", { "fill-opacity": (i + 1) / LEVELS,
        class: sign < 0 ? "rank-less" : "rank-more" }) })));
    const frame = draw(parent, "rect", { class: "rank-frame", ...size });
    return (matrix, x, y, largest) => {
      const tints = matrix.map((row) => row.map((number) =>
        Math.sign(number) * Math.min(LEVELS, Math.round(LEVELS * Math.abs(number) / largest))));
      for (const { sign, tint, drawn } of groups) {
        const found = tints.flatMap((row, down) => row.flatMap((each, across) =>
          each === sign * tint ? [`M${x + across} ${y + down}h1v1h-1z`] : []));
        change(drawn, { d: found.join("") });
      }
      change(frame, { x, y, width: matrix[0]?.length ?? 0, height: matrix.length });
    };
  }

  const largestOf = (matrix) => 0.7 * Math.max(...matrix.flat().map(Math.abs));

  function build({ model, choose, verdict, say }) {
    const [matrix, up, down, losses, uncut, trained] =
      ["whole", "up", "down", "losses", "uncut", "trained"].map((name) => model.get(name));
    const ranks = down.length, rows = up.length, columns = down[0].length;
    const pick = slider("Rank", { min: 0, max: ranks }, (rank) => choose({ rank }));

    const whole = svg(columns, rows, { class: "rank-drawing" });
    const room = ranks + GAP;
    const thin = svg(room + columns, room + rows, { class: "rank-drawing" });
    const drawWhole = cells(whole, {});
    const [drawUp, drawDown, drawProduct] = [cells(thin, {}), cells(thin, {}), cells(thin, {})];
    const pair = html("div", { class: "rank-pair" }, figure("The whole change", whole),
      figure("Cut: B (left) times A (above)", thin));

    const plot = svg(WIDTH, HEIGHT, { class: "explorer-plot" });
    const x = (rank) => LEFT + (rank / ranks) * (WIDTH - LEFT - RIGHT);
    const all = [...losses, uncut, ...Object.values(trained).flat()];
    const [low, high] = [Math.min(...all) - 0.05, Math.max(...all) + 0.05];
    const y = (loss) => TOP + ((high - loss) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    for (const loss of [1.6, 1.8, 2, 2.2].filter((each) => each > low && each < high))
      level(plot, { from: LEFT, to: WIDTH - RIGHT, at: y(loss) }, shown(loss, 1));
    level(plot, { from: LEFT, to: WIDTH - RIGHT, at: y(uncut), class: "rank-uncut" }, "uncut");
    const half = (losses[0] + uncut) / 2; // of what was learned
    const [from, to, at] = [LEFT, WIDTH - RIGHT, y(half)];
    draw(plot, "line", { x1: from, x2: to, y1: at, y2: at, class: "rank-uncut" });
    draw(plot, "text", { x: to, y: at - 6, "text-anchor": "end" }, "half of what was learned");
    for (let rank = 0; rank <= ranks; rank += 8)
      draw(plot, "text", { x: x(rank), y: HEIGHT - 9, "text-anchor": "middle" }, rank);
    const cut = losses.map((loss, rank) => [x(rank), y(loss)]);
    draw(plot, "path", { class: "explorer-line", d: path(cut) });
    for (const [rank, ends] of Object.entries(trained))
      draw(plot, "circle", { cx: x(rank), cy: y(sum(ends) / 2), r: 6, class: "rank-trained" });
    const marker = draw(plot, "circle", { r: 7, class: "rank-now" });
    const curve = figure(["Loss on the new style: line, all changes cut to a rank; dots,",
      " LoRA of that rank"].join(""), plot);

    function update({ rank }) {
      const found = compute({ whole: matrix, up, down, rank });
      drawWhole(matrix, 0, 0, largestOf(matrix));
      drawProduct(found.product, room, room, largestOf(matrix));
      drawUp(found.left, ranks - rank, room, largestOf(up));
      drawDown(found.right, room, ranks - rank, largestOf(down));
      pick.show(rank, rank, `rank ${rank}`);
      change(marker, { cx: x(rank), cy: y(losses[rank]) });
      const loss = shown(losses[rank]), ends = trained[rank];
      const as = found.numbers >= rows * columns ? ", as many as the matrix itself," : "";
      const lora = ends ? ` LoRA of this rank reaches
        ${[...new Set(ends.map((end) => shown(end)))].join(" to ")}.` : "";
      const sentence = rank ? `Rank ${rank}: B and A have ${written(found.numbers)} numbers${as} and
        keep ${shown(100 * found.kept, 0)} % of this change's squares. With all changes cut to
        this rank, the loss is ${loss}.${lora}`
        : `Rank 0: nothing is changed, and the loss is ${loss}, as before fine-tuning.`;
      say(sentence.replace(/\s+/g, " "));
      change(whole, { "aria-label": `The change: ${rows} by ${columns} numbers.` });
      const shape = `${rows} by ${rank} and ${rank} by ${columns}`;
      change(thin, { "aria-label": `B and A, ${shape}, and their product.` });
      change(plot, { "aria-label": `Loss by rank, from ${shown(losses[0])} at 0 to
        ${shown(losses.at(-1))} at ${ranks}; now ${loss}.`.replace(/\s+/g, " ") });
    }
    return { update, children: [pick.field, verdict, pair, curve] };
  }

  mount("rank", { start, compute, build });
})();
