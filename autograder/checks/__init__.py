"""What each chapter's exercises are checked for: cases, misconceptions and right answers written
differently.
"""
