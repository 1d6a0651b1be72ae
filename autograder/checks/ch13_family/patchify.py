"""An image as a sentence of patches."""

import torch
from torch.nn import functional

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import draw, drawn, integer
from autograder.shared.probes import arguments_after, device_kept, gradients, returned_for_views
from solutions.ch13_family import patchify


@drawn
def images(rng, batch, channels, rows, columns, patch_size, **kind):
    """Draw images of so many patches below and beside each other."""
    shape = batch, channels, rows * patch_size, columns * patch_size
    return {"images": normal(rng, *shape, **kind), "patch_size": patch_size}


@drawn
def images_of(rng, *shape, patch_size):
    return {"images": normal(rng, *shape), "patch_size": draw(patch_size, rng)}


def patchify_with(
    refused=lambda height, width, size: height % size or width % size,
    patches=lambda blocks: blocks.permute(0, 2, 4, 1, 3, 5),
):
    """Make a `patchify` from its rules: what is refused, and in which order the axes (batch,
    channels, rows, size, columns, size) of the blocks are taken.
    """

    def patchify(images, patch_size):
        batch, channels, height, width = images.shape
        if refused(height, width, patch_size):
            raise ValueError("patches do not fill the image")
        rows, columns = height // patch_size, width // patch_size
        images = images[:, :, : rows * patch_size, : columns * patch_size]
        blocks = images.reshape(batch, channels, rows, patch_size, columns, patch_size)
        return patches(blocks).reshape(batch, rows * columns, -1)

    return patchify


checks = Checks(
    patchify,
    family=patchify_with,
    shortcuts="unfold Unfold pixel_unshuffle PixelUnshuffle PatchEmbed rearrange",
)
shown, hidden, wrong, right = checks.words

shown("a grey image of two by two patches", images(1, 1, 2, 2, 2), weight=3)
shown("an image that is wider than high", images(1, 1, 2, 3, 2), weight=2)
shown("three channels", images(1, 3, 2, 2, 2), weight=2)
shown("two images", images(2, 1, 2, 2, 2))
shown("patches of one pixel", images(1, 2, 2, 3, 1))
shown("one patch that is the whole image", images(1, 2, 1, 1, 3))
shown(
    "patches that do not fill the width are refused",
    images_of(1, 1, 4, 5, patch_size=2),
    weight=2,
)
shown("gradients flow", images(1, 2, 2, 2, 2), probe=gradients)
shown("the images stay as they were", images(1, 2, 2, 2, 2), probe=arguments_after)
hidden("several images that are higher than wide, in colour", images(3, 3, 4, 2, 3), weight=3)
hidden("several images that are wider than high, in colour", images(2, 3, 2, 5, 2), weight=2)
hidden("as many channels as images and rows", images(2, 2, 2, 2, 2))
hidden("a row of patches", images(2, 3, 1, 4, 2))
hidden("a column of patches", images(2, 3, 4, 1, 2))
hidden("patches of one pixel, in colour", images(2, 3, 3, 4, 1))
hidden(
    "patches that do not fill the height are refused",
    images_of(2, 3, 5, 4, patch_size=2),
    weight=2,
)
hidden(
    "patches larger than the image are refused",
    images_of(1, 1, 4, 4, patch_size=integer(5, 8)),
)
hidden("float64 stays float64", images(2, 2, 2, 2, 2, dtype=torch.float64))
hidden("gradients flow in colour", images(2, 3, 2, 3, 2, dtype=torch.float64), probe=gradients)
hidden("images that are not contiguous in memory", images(2, 3, 2, 3, 2), probe=returned_for_views)
hidden("the result lies where the images lie", images(2, 3, 2, 2, 2), probe=device_kept)


@wrong(
    "a reshape keeps neighbours together",
    """The shape is right, but a row of your result is a strip of the image. Four numbers that
    follow each other in memory lie beside each other in a row of pixels: do they fill a
    square?""",
)
def by_a_plain_view(images, patch_size):
    batch, _, height, width = images.shape
    if height % patch_size or width % patch_size:
        raise ValueError("patches do not fill the image")
    return images.reshape(batch, height * width // patch_size**2, -1)


wrong(
    "patches are read column by column",
    "Which patch follows the first one: the one on its right, or the one below it?",
    patches=lambda blocks: blocks.permute(0, 4, 2, 1, 3, 5),
)


wrong(
    "pixels of a patch are read column by column",
    """You cut the right patches, but their pixels come in another order. Within a patch, which
    pixel follows the first one?""",
    patches=lambda blocks: blocks.permute(0, 2, 4, 1, 5, 3),
)


wrong(
    "the channels of a pixel belong together",
    """Your result is right for one channel. In which order do channel, row and column come in the
    features of a patch?""",
    patches=lambda blocks: blocks.permute(0, 2, 4, 3, 5, 1),
)


wrong(
    "each channel has patches of its own",
    """Your result is right for one channel. With more, you put the channels one after another
    along the wrong axis: does a patch hold all channels, or one?""",
    patches=lambda blocks: blocks.permute(0, 1, 2, 4, 3, 5),
)


wrong(
    "each row of pixels belongs to a patch",
    """You have swapped the axes of the blocks and of the pixels within them. Your patch takes
    pixels at a distance: do they touch?""",
)(
    patchify_with(
        patches=lambda blocks: blocks.reshape(
            *blocks.shape[:2], blocks.shape[3], blocks.shape[2], blocks.shape[5], blocks.shape[4]
        ).permute(0, 3, 5, 1, 2, 4)
    )
)


wrong(
    "height and width are the same",
    """Your result is right for square images. Which of your numbers of patches belongs to the
    height, and which to the width?""",
)(
    lambda images, patch_size: patchify_with()(
        images.reshape(*images.shape[:2], images.shape[3], images.shape[2]), patch_size
    )
)


wrong(
    "images lie with their width first",
    "You read the image transposed. Which of the last two axes is the height?",
    images=lambda images: images.mT,
)


wrong(
    "what does not fill a patch is dropped",
    "Part of the image is dropped silently. What does the docstring say under Raises?",
    refused=lambda height, width, size: False,
)


@wrong(
    "what does not fill a patch is padded",
    "You have added pixels that nobody gave. What does the docstring say under Raises?",
)
def with_padding(images, patch_size):
    height, width = images.shape[-2:]
    more = (0, -width % patch_size, 0, -height % patch_size)
    return patchify(functional.pad(images, more), patch_size)


wrong(
    "patches lie on the feature axis",
    "You have swapped the last two axes. What does each of them count?",
    then=lambda patches: patches.mT,
)


@wrong(
    "a patch keeps its own axes",
    """The numbers are right. How many axes should the result have, and how long is the last
    one?""",
)
def with_axes_of_their_own(images, patch_size):
    patches = patchify(images, patch_size)
    return patches.unflatten(-1, (images.shape[1], patch_size, patch_size))


wrong(
    "all images make one sentence",
    "Each image is a sentence of its own. Where is your first axis?",
    then=lambda patches: patches.flatten(0, 1),
)


checks.usual("detached")
checks.usual("in float32")
checks.usual("changes its argument")


@right
def by_unfold(images, patch_size):
    if images.shape[2] % patch_size or images.shape[3] % patch_size:
        raise ValueError("patches do not fill the image")
    return functional.unfold(images, patch_size, stride=patch_size).mT


@right
def by_windows(images, patch_size):
    if images.shape[-2] % patch_size or images.shape[-1] % patch_size:
        raise ValueError("patches do not fill the image")
    windows = images.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
    return windows.permute(0, 2, 3, 1, 4, 5).flatten(1, 2).flatten(2)


@right
def patch_by_patch(images, patch_size):
    height, width = images.shape[-2:]
    if height % patch_size or width % patch_size:
        raise ValueError("patches do not fill the image")
    cut = [
        images[:, :, row : row + patch_size, column : column + patch_size].flatten(1)
        for row in range(0, height, patch_size)
        for column in range(0, width, patch_size)
    ]
    return torch.stack(cut, dim=1)


@right
def by_chunks(images, patch_size):
    if images.size(2) % patch_size or images.size(3) % patch_size:
        raise ValueError("patches do not fill the image")
    rows = images.split(patch_size, dim=2)
    patches = [patch.flatten(1) for row in rows for patch in row.split(patch_size, dim=3)]
    return torch.stack(patches, 1)


@right
def by_an_einsum(images, patch_size):
    if images.size(2) % patch_size or images.size(3) % patch_size:
        raise ValueError("patches do not fill the image")
    split = images.unflatten(2, (-1, patch_size)).unflatten(4, (-1, patch_size))
    return torch.einsum("bchpwq->bhwcpq", split).flatten(3).flatten(1, 2)
